/** The results as Markdown tables. Pure. */
import type { Figure } from './measurement.js';

export interface Section {
  readonly title: string;
  readonly figures: readonly Figure[];
}

export function renderReport(
  machine: readonly string[],
  sections: readonly Section[],
  seconds: number,
): string {
  const all = sections.flatMap(({ figures }) => figures).filter(({ met }) => met !== undefined);
  const met = all.filter((figure) => figure.met === true).length;
  return [
    '# Benchmark results',
    '',
    'Written by `npm run bench`; what each figure is, `bench/measurements` says. Targets are those of the design.',
    'The model is scripted and answers at once; `serve` is a process of its own with its embedded engine and its files.',
    '',
    ...machine,
    `- ${String(met)} of ${String(all.length)} targets met; the run took ${seconds.toFixed(0)} s`,
    '',
    ...sections.flatMap(({ title, figures }) => [`## ${title}`, '', ...table(figures), '']),
  ].join('\n');
}

function table(figures: readonly Figure[]): string[] {
  const rows = [
    ['what', 'measured', 'target', ''],
    ...figures.map(({ what, value, target = '', met }) => [
      what.replace(/^ +/, '… '),
      value,
      target,
      met === undefined ? '' : met ? 'met' : 'NOT MET',
    ]),
  ];
  const widths = [0, 1, 2, 3].map((column) => Math.max(3, ...rows.map((row) => row[column]!.length)));
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column]!)).join(' | ')} |`;
  return [line(rows[0]!), line(widths.map((width) => '-'.repeat(width))), ...rows.slice(1).map(line)];
}
