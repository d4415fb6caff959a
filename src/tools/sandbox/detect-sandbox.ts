/** Finds out whether commands can be confined here, by confining one. */
import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Bubblewrap, bubblewrapVersion, findBubblewrap } from './bubblewrap.js';
import { type ConfinedRequest, runConfinedCommand } from './confined-command.js';
import { explainRefusal, readKernelSettings } from './refusal.js';

const TRIAL_TIMEOUT_MS = 10_000;

export type SandboxDetection =
  | ({ readonly works: true } & Bubblewrap)
  /** A sentence that says why not, and what to do. */
  | { readonly works: false; readonly reason: string };

/** Tries the `bwrap` of the PATH in the very confinement that commands get. Never throws. */
export async function detectSandbox(env: NodeJS.ProcessEnv): Promise<SandboxDetection> {
  if (process.platform !== 'linux') {
    return { works: false, reason: `The sandbox needs Linux, and this is ${process.platform}.` };
  }
  const program = await findBubblewrap(env.PATH ?? '');
  if (program === undefined) {
    const reason =
      'There is no bubblewrap (bwrap) on the PATH. Install it, for example with "apt-get install bubblewrap".';
    return { works: false, reason };
  }
  try {
    const bubblewrap = { program, version: await bubblewrapVersion(program) };
    await tryOut(bubblewrap);
    return { works: true, ...bubblewrap };
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return { works: false, reason: explainRefusal(message, readKernelSettings()) };
  }
}

/** @throws Error with what bubblewrap said */
async function tryOut(bubblewrap: Bubblewrap): Promise<void> {
  const workspace = await realpath(await mkdtemp(join(tmpdir(), 'turnkeeper-sandbox-')));
  try {
    const request: ConfinedRequest = {
      scope: { workspace, protectedPaths: [] },
      sandbox: { writable: true },
      command: 'echo works > trial',
      workdir: undefined,
      timeoutMs: TRIAL_TIMEOUT_MS,
      idempotencyKey: 'sandbox-trial',
      signal: new AbortController().signal,
      output: () => undefined,
    };
    const { ending, stderr } = await runConfinedCommand(request, bubblewrap);
    if (ending.kind === 'exited' && ending.exitCode === 0) return;
    const how =
      ending.kind === 'timed-out' ? `no answer in ${String(TRIAL_TIMEOUT_MS)} ms` : stderr.head.trim();
    throw new Error(`A trial command failed in the sandbox: ${how}`);
  } finally {
    await rm(workspace, { recursive: true, force: true });
  }
}
