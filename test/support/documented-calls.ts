/**
 * Runs what a page of the documentation shows: its `sh` blocks, as they stand but for the address, the folder and the
 * placeholders that a reader would fill in.
 */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';

const TIMEOUT_MS = 120_000;

export interface ShellBlock {
  /** The heading that it stands under. */
  readonly heading: string;
  readonly script: string;
}

export interface RunBlock {
  readonly code: number;
  /** The status of each `curl`, in order. */
  readonly statuses: readonly number[];
  /** What it printed, for whoever has to find out why. */
  readonly output: string;
}

/** The `sh` blocks of a Markdown file with calls in them, in order. The path is from the root of the repository. */
export function blocksWithCalls(path: string): ShellBlock[] {
  const text = readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
  const blocks: ShellBlock[] = [];
  let heading = '';
  for (const match of text.matchAll(/^#+ (?<heading>.*)$|^```sh\n(?<script>[^]*?)^```$/gm)) {
    const { script } = match.groups ?? {};
    heading = match.groups?.heading ?? heading;
    if (script !== undefined && callsIn(script) > 0) blocks.push({ heading, script });
  }
  return blocks;
}

/** How many calls the block makes. */
export function callsIn(script: string): number {
  return script.match(/^curl /gm)?.length ?? 0;
}

/** Runs the block in the folder with every key of `filled` replaced by its value. Stops at the first command that fails. */
export async function runBlock(
  { script }: ShellBlock,
  { cwd, filled }: { readonly cwd: string; readonly filled: Readonly<Record<string, string>> },
): Promise<RunBlock> {
  let text = script;
  for (const [shown, value] of Object.entries(filled)) text = text.replaceAll(shown, value);
  // Bodies go to standard output as the reader sees them, statuses beside them.
  const curl = `curl() { command curl -sS --max-time 90 -w '%{stderr}HTTP %{http_code}\\n' "$@"; }`;
  return new Promise((resolve) => {
    const options = { cwd, timeout: TIMEOUT_MS, encoding: 'utf8' } as const;
    execFile('bash', ['-euo', 'pipefail', '-c', `${curl}\n${text}`], options, (error, stdout, stderr) => {
      resolve({
        code: error === null ? 0 : typeof error.code === 'number' ? error.code : 1,
        statuses: [...stderr.matchAll(/^HTTP (\d+)$/gm)].map((match) => Number(match[1])),
        output: `${text}\n${stdout}\n${stderr}`,
      });
    });
  });
}
