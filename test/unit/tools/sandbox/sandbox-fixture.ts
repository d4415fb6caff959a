/**
 * A home with a session's workspace in it, and a folder beside it, in a place that the sandbox shows; and `bash` over the
 * real sandbox. Where none works, `sandboxIt` leaves its tests out, and `detect-sandbox.test.ts` says so.
 */
import { chmod, mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { it } from 'vitest';
import type { CommandSandbox } from '../../../../src/tools/execution-provider.js';
import { createLocalExecutionProvider } from '../../../../src/tools/local/local-execution-provider.js';
import type { Bubblewrap } from '../../../../src/tools/sandbox/bubblewrap.js';
import { detectSandbox } from '../../../../src/tools/sandbox/detect-sandbox.js';
import { createSandboxExecutionProvider } from '../../../../src/tools/sandbox/sandbox-execution-provider.js';
import type { ToolContext } from '../../../../src/tools/tool.js';
import { environmentWithBubblewrap } from '../../../support/bubblewrap.js';
import { createToolFixture, textOf } from '../tool-fixture.js';

export const DETECTED = await detectSandbox(await environmentWithBubblewrap());

/** A test that needs a sandbox which works. */
export const sandboxIt = it.runIf(DETECTED.works);

export const CONFINED: CommandSandbox = { writable: true };

export interface ConfinedOptions {
  readonly sandbox?: CommandSandbox;
  /** Default: the one that works here. */
  readonly bubblewrap?: Bubblewrap;
  readonly args?: object;
  readonly context?: Partial<ToolContext>;
}

export async function createSandboxFixture() {
  // Not in the folder for temporary files, which the sandbox hides as a whole.
  const folder = await realpath(await mkdtemp('/var/tmp/turnkeeper-sandbox-'));
  await chmod(folder, 0o755);
  const [home, outside] = [join(folder, 'home'), join(folder, 'outside')];
  const workspace = join(home, 'workspaces', 'own');
  await mkdir(workspace, { recursive: true });
  await mkdir(outside);
  await writeFile(join(home, 'sessions.db'), 'the log');
  await writeFile(join(outside, 'file'), 'anybody may read this');
  const tools = await createToolFixture();

  const run = (command: string, options: ConfinedOptions = {}) => {
    const bubblewrap = options.bubblewrap ?? DETECTED;
    if (!('program' in bubblewrap)) throw new Error(bubblewrap.reason);
    return tools.run(
      'bash',
      { command, ...options.args },
      {
        workspace,
        protectedPaths: [home, '/proc', '/sys', '/dev'],
        execution: createSandboxExecutionProvider(createLocalExecutionProvider(), bubblewrap),
        sandbox: options.sandbox ?? CONFINED,
        ...options.context,
      },
    );
  };
  return {
    folder,
    home,
    outside,
    workspace,
    run,
    bash: async (command: string, options?: ConfinedOptions) => textOf(await run(command, options)),
    remove: async () => {
      await tools.remove();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

export type SandboxFixture = Awaited<ReturnType<typeof createSandboxFixture>>;
