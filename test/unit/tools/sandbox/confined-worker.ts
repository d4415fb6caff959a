/** A process that runs one confined command, to be killed while it does. Its argument is JSON. */
import { runConfinedCommand } from '../../../../src/tools/sandbox/confined-command.js';
import type { Bubblewrap } from '../../../../src/tools/sandbox/bubblewrap.js';

const { workspace, command, bubblewrap } = JSON.parse(process.argv[2] ?? '') as {
  workspace: string;
  command: string;
  bubblewrap: Bubblewrap;
};
await runConfinedCommand(
  {
    scope: { workspace, protectedPaths: [] },
    sandbox: { writable: true },
    command,
    workdir: undefined,
    timeoutMs: 60_000,
    idempotencyKey: 'confined-worker/1.1.0',
    signal: new AbortController().signal,
    output: () => undefined,
  },
  bubblewrap,
);
