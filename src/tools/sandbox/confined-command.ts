/**
 * Runs a command in bubblewrap: its own namespaces for processes, users, IPC, host name and network; no capability; and the
 * file system of `mounts.ts`.
 *
 * The process namespace ends with bubblewrap, and that with the worker, so nothing outlives either.
 */
import { constants } from 'node:os';
import type { CommandEnding, CommandRequest, CommandResult, CommandSandbox } from '../execution-provider.js';
import { type CommandLaunch, type MonitorEnd, runCommand } from '../local/local-command.js';
import { ToolError } from '../tool.js';
import { openFolder } from '../workspace-paths.js';
import { type Bubblewrap, canDisableUserNamespaces } from './bubblewrap.js';
import { hiddenPlaces, SCRATCH_FOLDER } from './hidden-places.js';
import { type Mount, mountArguments } from './mounts.js';

/** The first descriptor that a monitor inherits beside its report. */
const WORKSPACE_DESCRIPTOR = 4;

/**
 * Runs around the command in the sandbox and reports on descriptor 3 that it has begun, and how many processes it left
 * behind: all but the namespace's first one, which is bubblewrap's, and this shell. What is about to end has a moment to.
 * What the worker itself inherited and would hand on, such as a folder of the host, is closed first.
 * Its own standard error is the report too: there it says by itself where a signal killed the command. The trap keeps it
 * until the command has ended, so that all of that has its time after a SIGTERM.
 */
const SHELL_AROUND = `
exec 4>&2 2>&3
for path in /proc/self/fd/*; do
  fd=\${path##*/}
  (( fd > 4 )) && exec {fd}>&-
done
trap : TERM
echo begun >&3
bash -c "$1" 2>&4 3>&- 4>&-
code=$?
for round in 1 2 3; do
  processes=(/proc/[0-9]*)
  left=$(( \${#processes[@]} - 2 ))
  (( left > 0 )) || break
  read -r -t 0.02 -u 3
done
echo "left $left" >&3
exit $code
`;

/** A command that is to be confined. */
export type ConfinedRequest = CommandRequest & { readonly sandbox: CommandSandbox };

/**
 * Runs a command in a sandbox; otherwise as on the host.
 * @throws ToolError SANDBOX_UNAVAILABLE where the sandbox cannot be set up, in which case the command has not run; else as
 * `runCommand`
 */
export function runConfinedCommand(request: ConfinedRequest, bubblewrap: Bubblewrap): Promise<CommandResult> {
  return runCommand(request, () => launchConfined(request, bubblewrap));
}

async function launchConfined(
  { scope, sandbox, workdir, command }: ConfinedRequest,
  bubblewrap: Bubblewrap,
): Promise<CommandLaunch> {
  const hidden = await hiddenPlaces(scope.protectedPaths);
  const folder = await openFolder(workdir ?? '.', scope);
  await folder.handle.close();
  const workspace = await openFolder('.', scope);
  const mounts: readonly Mount[] = [...hidden, { kind: 'workspace', path: workspace.real }];
  return {
    program: bubblewrap.program,
    args: [
      ...namespaceArguments(bubblewrap),
      ...mountArguments(mounts, { descriptor: WORKSPACE_DESCRIPTOR, writable: sandbox.writable }),
      ...['--chdir', folder.real, '--', 'bash', '-c', SHELL_AROUND, 'bash', command],
    ],
    cwd: '/',
    variables: { TMPDIR: SCRATCH_FOLDER },
    monitor: { descriptors: [workspace.handle.fd], settle },
    release: () => workspace.handle.close(),
  };
}

function namespaceArguments(bubblewrap: Bubblewrap): readonly string[] {
  return [
    '--die-with-parent',
    '--new-session',
    ...['--cap-drop', 'ALL'],
    // The user stays the same one.
    '--unshare-user',
    ...(canDisableUserNamespaces(bubblewrap) ? ['--disable-userns'] : []),
    '--unshare-pid',
    '--unshare-ipc',
    '--unshare-uts',
    '--unshare-cgroup-try',
    '--unshare-net',
  ];
}

/** @throws ToolError SANDBOX_UNAVAILABLE where the command was not begun */
function settle({ ending, report, stderr }: MonitorEnd): Pick<CommandResult, 'ending' | 'leftovers'> {
  if (!report.startsWith('begun\n')) {
    throw new ToolError(
      'SANDBOX_UNAVAILABLE',
      `The command was not run: the sandbox could not be set up. ${stderr.trim()}`.trim(),
    );
  }
  const left = /^left (\d+)$/m.exec(report);
  const wasKilled = report.slice(0, left?.index) !== 'begun\n';
  return { ending: wasKilled ? signalOf(ending) : ending, leftovers: Number(left?.[1] ?? 0) };
}

/** Bubblewrap hands on exit codes only, in which a signal is 128 and its number. */
function signalOf(ending: CommandEnding): CommandEnding {
  if (ending.kind !== 'exited') return ending;
  const signal = Object.entries(constants.signals).find(
    ([, number]) => 128 + number === ending.exitCode,
  )?.[0];
  return signal === undefined ? ending : { kind: 'signalled', signal };
}
