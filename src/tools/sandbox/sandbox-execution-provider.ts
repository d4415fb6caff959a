/** The execution provider that confines commands. Its file tools are those of another one, which stay in the workspace by themselves. */
import type { ExecutionProvider } from '../execution-provider.js';
import type { Bubblewrap } from './bubblewrap.js';
import { runConfinedCommand } from './confined-command.js';

/**
 * @param local Does everything else, commands without a sandbox among it.
 * @param bubblewrap One that works here, as `detectSandbox` finds out.
 */
export function createSandboxExecutionProvider(
  local: ExecutionProvider,
  bubblewrap: Bubblewrap,
): ExecutionProvider {
  return {
    ...local,
    kind: 'sandbox',
    runCommand: ({ sandbox, ...request }) =>
      sandbox === null
        ? local.runCommand({ ...request, sandbox })
        : runConfinedCommand({ ...request, sandbox }, bubblewrap),
  };
}
