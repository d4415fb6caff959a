/**
 * Finds and ends the processes of a command: its descendants, its process group and session, and all that carry its
 * marker in their environment, so that a grandchild that called setsid or lost its parent is found too.
 *
 * Reads /proc, so it sees the whole tree on Linux only; elsewhere it reaches the process group.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { errnoOf } from '../file-errors.js';

/** The environment variable that marks each process of a command with its idempotency key. */
const COMMAND_MARKER = 'TURNKEEPER_COMMAND';
/** The one that says which process started it, and when that itself was started. */
const COMMAND_OWNER = 'TURNKEEPER_COMMAND_OWNER';

const TERM_GRACE_MS = 100;
const KILL_DEADLINE_MS = 1500;
const POLL_MS = 10;

/** A command by the pid of its group leader, when that started, and its idempotency key. */
export interface CommandProcess {
  readonly pid: number;
  /** Clock ticks since the system's start; what is older is not looked at. 0 looks at everything. */
  readonly startedAt: number;
  readonly marker: string;
  /** Whether the group leader only stands around the command, which dies with it: it is not asked to end, but killed. */
  readonly isMonitored: boolean;
}

interface ProcessEntry {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
  readonly session: number;
  readonly startedAt: number;
}

/** What the environment of a command has, by which its processes are found. */
export function commandMarks(idempotencyKey: string): Readonly<Record<string, string>> {
  return { [COMMAND_MARKER]: idempotencyKey, [COMMAND_OWNER]: ownerMark(process.pid) ?? '' };
}

/** The command of a process that was just spawned as the leader of its group. */
export function commandProcess(
  pid: number,
  marker: string,
  { isMonitored }: Pick<CommandProcess, 'isMonitored'>,
): CommandProcess {
  return { pid, startedAt: readEntry(pid)?.startedAt ?? 0, marker, isMonitored };
}

/**
 * Ends all processes of a command: SIGTERM, and SIGKILL where that did not do within 100 ms. Settles once they are dead,
 * or after 1.6 s where the kernel keeps one.
 * @returns how many there were
 */
export async function endProcessTree(command: CommandProcess): Promise<number> {
  if (process.platform !== 'linux') return endGroup(command.pid);
  const find: Find = (entries) => {
    const isRoot = ({ pid, group, session }: ProcessEntry) =>
      pid === command.pid || group === command.pid || session === command.pid;
    const young = entries.filter(({ startedAt }) => startedAt >= command.startedAt);
    return withDescendants(
      young,
      (entry) => isRoot(entry) || markOf(entry.pid, COMMAND_MARKER) === command.marker,
    );
  };
  return endAll(find, command.isMonitored ? command.pid : undefined);
}

/**
 * Ends every process that carries the marker of a command whose idempotency key starts with `prefix`, with its
 * descendants: what outlived a killed worker. `uid/3` means that turn and not turn 31: a prefix ends where a part ends.
 * @returns how many there were; 0 on systems without /proc
 */
export async function killMarkedProcesses(prefix: string): Promise<number> {
  if (process.platform !== 'linux') return 0;
  const matches = (marker: string | undefined) =>
    marker !== undefined &&
    marker.startsWith(prefix) &&
    (marker.length === prefix.length || /[/.]$/.test(prefix) || /^[/.]/.test(marker.slice(prefix.length)));
  return endAll((entries) => withDescendants(entries, ({ pid }) => matches(markOf(pid, COMMAND_MARKER))));
}

/**
 * The idempotency keys of the commands on this machine whose process that started them is dead; none on systems without
 * /proc.
 */
export function orphanedCommands(): readonly string[] {
  if (process.platform !== 'linux') return [];
  const orphans = listProcesses().filter(({ pid }) => isOrphan(pid));
  return [...new Set(orphans.flatMap(({ pid }) => markOf(pid, COMMAND_MARKER) ?? []))];
}

/** Ends the processes of a command that it returned, and none of the same key that somebody has who lives. */
export async function endOrphanedCommand(key: string): Promise<number> {
  return endAll((entries) =>
    withDescendants(entries, ({ pid }) => markOf(pid, COMMAND_MARKER) === key && isOrphan(pid)),
  );
}

function isOrphan(pid: number): boolean {
  const owner = markOf(pid, COMMAND_OWNER);
  return owner === undefined || owner !== ownerMark(Number(owner.split('/')[0]));
}

/** A pid is given again: only with its start it names a process. */
function ownerMark(pid: number): string | undefined {
  const entry = readEntry(pid);
  return entry === undefined ? undefined : `${String(pid)}/${String(entry.startedAt)}`;
}

type Find = (entries: readonly ProcessEntry[]) => readonly number[];

/** @param unasked A process that gets no SIGTERM, for the others' sake. */
async function endAll(find: Find, unasked?: number): Promise<number> {
  const seen = new Set<number>();
  const signalAll = (signal: 'SIGTERM' | 'SIGKILL') => {
    const pids = find(listProcesses());
    for (const pid of pids) {
      seen.add(pid);
      if (signal === 'SIGKILL' || pid !== unasked) sendSignal(pid, signal);
    }
    return pids.length;
  };
  if (signalAll('SIGTERM') === 0) return 0;
  const graceEnds = performance.now() + TERM_GRACE_MS;
  while (performance.now() < graceEnds) {
    await delay(POLL_MS);
    if (find(listProcesses()).length === 0) return seen.size;
  }
  // Looked for anew in each round: a process can fork between the look and the signal.
  const deadline = performance.now() + KILL_DEADLINE_MS;
  while (signalAll('SIGKILL') > 0 && performance.now() < deadline) await delay(POLL_MS);
  return seen.size;
}

function withDescendants(
  entries: readonly ProcessEntry[],
  isRoot: (entry: ProcessEntry) => boolean,
): readonly number[] {
  const found = new Set(entries.filter(isRoot).map(({ pid }) => pid));
  for (let before = -1; before !== found.size;) {
    before = found.size;
    for (const { pid, parent } of entries) if (found.has(parent)) found.add(pid);
  }
  // A worker may itself run inside a command; it never ends itself.
  found.delete(process.pid);
  return [...found];
}

/** All living processes. Synchronous, so that the picture is of one moment. */
function listProcesses(): ProcessEntry[] {
  return readdirSync('/proc')
    .map(Number)
    .filter(Number.isInteger)
    .map(readEntry)
    .filter((entry) => entry !== undefined);
}

/** A living process; a zombie is dead. The fields are those of proc_pid_stat(5). */
function readEntry(pid: number): ProcessEntry | undefined {
  const stat = readProc(pid, 'stat');
  if (stat === undefined) return undefined;
  // The name in parentheses may hold spaces and parentheses itself: the fields begin after the last one.
  const [state, ...numbers] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  if (state === 'Z' || state === 'X') return undefined;
  const field = (index: number) => Number(numbers[index - 4]);
  return { pid, parent: field(4), group: field(5), session: field(6), startedAt: field(22) };
}

/** What a process has in its environment of a command. */
function markOf(pid: number, name: string): string | undefined {
  const start = `${name}=`;
  const variable = readProc(pid, 'environ')
    ?.split('\0')
    .find((entry) => entry.startsWith(start));
  return variable?.slice(start.length);
}

function readProc(pid: number, file: 'stat' | 'environ'): string | undefined {
  try {
    return readFileSync(`/proc/${String(pid)}/${file}`, 'utf8');
  } catch {
    // It has ended meanwhile, or belongs to another user and so is none of ours.
    return undefined;
  }
}

function sendSignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    // It has ended meanwhile, or changed its user, which leaves it out of reach.
    if (errnoOf(error) !== 'ESRCH' && errnoOf(error) !== 'EPERM') throw error;
  }
}

async function endGroup(group: number): Promise<number> {
  sendSignal(-group, 'SIGTERM');
  await delay(TERM_GRACE_MS);
  sendSignal(-group, 'SIGKILL');
  return 0;
}
