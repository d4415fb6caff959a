/** The figures of a run, for a person. */
import { killsOf, type ChaosResult } from './run.js';

export function renderReport(result: ChaosResult): string {
  const { faults, recoveries } = result;
  const fault = (kind: keyof typeof faults): number => faults[kind] ?? 0;
  const rows: [string, string | number][] = [
    ['processes killed', killsOf(faults)],
    ['  servers', fault('kill-server') + fault('kill-both')],
    ['  engines', fault('kill-engine') + fault('kill-both')],
    ['servers terminated', fault('terminate-server')],
    ['processes stopped and continued', fault('stop-server') + fault('stop-engine')],
    ['connections cut', fault('cut-clients') + fault('cut-model') + fault('cut-engine')],
    ['stalls of the disk', fault('stall-disk')],
    ['turns', result.turns],
    ['steps', result.steps],
    ['prompts accepted', result.prompts],
    ['calls of tools', result.tools],
    ['approvals decided', result.approvals],
    ['model calls lost with their worker', result.lostAttempts],
    ['outcomes told as unknown', result.unknownOutcomes],
    ['effects doubled', result.effectsDoubled],
    ['prompts lost', result.promptsLost],
    ['texts shown twice or lost', result.textsShownTwice],
    ['after a kill, work goes on: p50 / p99', quantiles(recoveries.map(({ fromKill }) => fromKill))],
    ['after the server is ready again', quantiles(recoveries.map(({ fromReady }) => fromReady))],
  ];
  const width = Math.max(...rows.map(([name]) => name.length));
  return rows.map(([name, value]) => `${name.padEnd(width)}  ${String(value)}`).join('\n');
}

function quantiles(values: readonly number[]): string {
  if (values.length === 0) return 'none measured';
  const sorted = [...values].sort((a, b) => a - b);
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0;
  return `${String(at(0.5))} ms / ${String(at(0.99))} ms (${String(values.length)})`;
}
