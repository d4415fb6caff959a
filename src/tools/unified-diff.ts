/** A small unified diff of known replacements in a text. */

/** A replaced range of the old text, in UTF-16 code units. */
export interface Replacement {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** Lines that are replaced, from the line `first` (counted from 0) on. */
interface LineChange {
  readonly first: number;
  readonly oldLines: readonly string[];
  readonly newLines: readonly string[];
}

const CONTEXT_LINES = 3;

/**
 * The diff as text, without file names, cut after `maxLines` lines. The replacements are in order and apart.
 */
export function unifiedDiff(text: string, replacements: readonly Replacement[], maxLines = Infinity): string {
  const lines = splitLines(text);
  const output: string[] = [];
  let shift = 0;
  for (const hunk of groupChanges(toLineChanges(text, lines, replacements))) {
    output.push(...renderHunk(lines, hunk, shift));
    for (const change of hunk) shift += change.newLines.length - change.oldLines.length;
  }
  if (output.length <= maxLines) return output.join('\n');
  return [...output.slice(0, maxLines), `[${String(output.length - maxLines)} more lines of the diff]`].join(
    '\n',
  );
}

/** Lines with their ends; the last may have none. */
function splitLines(text: string): string[] {
  return text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
}

function toLineChanges(
  text: string,
  lines: readonly string[],
  replacements: readonly Replacement[],
): LineChange[] {
  const starts: number[] = [];
  let length = 0;
  for (const line of lines) {
    starts.push(length);
    length += line.length;
  }
  const changes: LineChange[] = [];
  let line = 0;
  const lineAt = (position: number) => {
    while (line + 1 < starts.length && (starts[line + 1] ?? 0) <= position) line += 1;
    return line;
  };
  for (let index = 0; index < replacements.length;) {
    const first = lineAt(replacements[index]?.start ?? 0);
    let last = first;
    let position = starts[first] ?? 0;
    let replaced = '';
    // Replacements that share a line make one change. The line after a range counts too: it may be joined to it.
    for (let next = replacements[index]; next !== undefined; next = replacements[index]) {
      if (position !== starts[first] && lineAt(next.start) > last) break;
      replaced += text.slice(position, next.start) + next.text;
      position = next.end;
      last = lineAt(next.end);
      index += 1;
    }
    replaced += text.slice(position, starts[last + 1] ?? text.length);
    changes.push(trimmed(first, lines.slice(first, last + 1), splitLines(replaced)));
  }
  return changes;
}

/** Leaves out the lines at both ends that stay as they are. */
function trimmed(first: number, oldLines: readonly string[], newLines: readonly string[]): LineChange {
  const shorter = Math.min(oldLines.length, newLines.length);
  let head = 0;
  while (head < shorter && oldLines[head] === newLines[head]) head += 1;
  let tail = 0;
  while (tail < shorter - head && oldLines.at(-1 - tail) === newLines.at(-1 - tail)) tail += 1;
  return {
    first: first + head,
    oldLines: oldLines.slice(head, oldLines.length - tail),
    newLines: newLines.slice(head, newLines.length - tail),
  };
}

/** Changes whose contexts touch stand in one hunk. */
function groupChanges(changes: readonly LineChange[]): LineChange[][] {
  const hunks: LineChange[][] = [];
  let end = -Infinity;
  for (const change of changes) {
    if (change.first - end <= 2 * CONTEXT_LINES) hunks.at(-1)?.push(change);
    else hunks.push([change]);
    end = change.first + change.oldLines.length;
  }
  return hunks;
}

function renderHunk(lines: readonly string[], hunk: readonly LineChange[], shift: number): string[] {
  const start = Math.max(0, (hunk[0]?.first ?? 0) - CONTEXT_LINES);
  const body: string[] = [];
  let line = start;
  for (const change of hunk) {
    body.push(...marked(' ', lines.slice(line, change.first)));
    body.push(...marked('-', change.oldLines), ...marked('+', change.newLines));
    line = change.first + change.oldLines.length;
  }
  body.push(...marked(' ', lines.slice(line, line + CONTEXT_LINES)));
  const count = (sign: string) => body.filter((row) => row.startsWith(sign)).length;
  const [same, removed, added] = [count(' '), count('-'), count('+')];
  const header = `@@ -${range(start, same + removed)} +${range(start + shift, same + added)} @@`;
  return [header, ...body];
}

function marked(sign: string, lines: readonly string[]): string[] {
  return lines.map((line) => sign + line.replace(/\r?\n$/, ''));
}

function range(start: number, count: number): string {
  // An empty range is named by the line before it.
  return `${String(count === 0 ? start : start + 1)},${String(count)}`;
}
