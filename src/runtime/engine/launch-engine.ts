/**
 * One start of the engine: its flags, and waiting until it answers. That it is started again is the supervisor's.
 */
import { join } from 'node:path';
import { EngineError, portInUseError } from './engine-error.js';
import { waitUntilHealthy } from './engine-health.js';
import { openEngineLog } from './engine-log.js';
import { spawnEngine, type EngineProcess } from './engine-process.js';
import { DATABASE_FILE, writeEngineState } from './engine-state.js';
import { isPortFree, LOOPBACK } from './free-port.js';

const START_TIMEOUT_MS = 60_000;

export interface Ports {
  readonly port: number;
  readonly uiPort: number;
}

export interface Launch {
  /** The Temporal CLI. */
  readonly cli: string;
  readonly home: string;
  readonly namespace: string;
  readonly ports: Ports;
  readonly env: NodeJS.ProcessEnv;
  readonly signal: AbortSignal;
}

/** Program and arguments; the working folder is the home. */
export function engineCommand({
  cli,
  namespace,
  ports,
}: Pick<Launch, 'cli' | 'namespace' | 'ports'>): readonly [string, ...string[]] {
  return [
    cli,
    ...['server', 'start-dev', '--ip', LOOPBACK],
    ...['--port', String(ports.port), '--ui-port', String(ports.uiPort)],
    ...['--namespace', namespace],
    ...['--db-filename', DATABASE_FILE],
    ...['--sqlite-pragma', 'journal_mode=WAL', '--sqlite-pragma', 'synchronous=NORMAL'],
    // The development server polls its queues 20 times a second as shipped, which is 50 ms for each task.
    ...['--dynamic-config-value', 'history.transferProcessorMaxPollRPS=2000'],
    ...['--dynamic-config-value', 'history.timerProcessorMaxPollRPS=2000'],
    // A timer is looked for up to this much later than it is due; the default of 1 s makes a retry after 100 ms one of 1 s.
    ...['--dynamic-config-value', 'history.timerProcessorMaxTimeShift="20ms"'],
    ...['--ui-disable-news-fetch', '--disable-config-file', '--disable-config-env'],
    ...['--log-level', 'error', '--log-format', 'json', '--color', 'never'],
  ];
}

/**
 * Starts a process, records it in `engine.json` and waits until it answers; one that does not is ended.
 *
 * @throws EngineError `ENGINE_PORT_IN_USE`, `ENGINE_START_FAILED`, `ENGINE_START_TIMEOUT`, `ENGINE_START_STOPPED`.
 */
export async function launchEngine(launch: Launch): Promise<EngineProcess> {
  const { home, namespace, ports, env, signal } = launch;
  // A stranger's Temporal server on the port would be taken for the engine.
  if (!(await isPortFree(ports.port))) throw portInUseError(ports.port);
  const command = engineCommand(launch);
  const [program, ...args] = command;
  const log = openEngineLog(join(home, 'engine.log'));
  const engine = spawnEngine({ program, args, home, env }, log);
  try {
    writeEngineState(home, { ...ports, command: [...command], ...engine.identity });
  } catch (error) {
    // An engine that is not on record could not be found again.
    await engine.end();
    throw error;
  }

  const ended = new AbortController();
  let cause: string | undefined;
  void engine.exited.then((text) => {
    cause = text;
    ended.abort();
  });
  const giveUp = AbortSignal.any([signal, ended.signal, AbortSignal.timeout(START_TIMEOUT_MS)]);
  if (await waitUntilHealthy({ host: LOOPBACK, port: ports.port, namespace, signal: giveUp })) return engine;

  const endedAlone = cause;
  await engine.end();
  throw startError(endedAlone, signal.aborted, { file: join(home, 'engine.log'), tail: log.tail() });
}

function startError(
  cause: string | undefined,
  isStopped: boolean,
  { file, tail }: { file: string; tail: string },
): EngineError {
  if (isStopped)
    return new EngineError('ENGINE_START_STOPPED', 'The embedded engine was stopped while it started.');
  const log = tail === '' ? `It wrote nothing to ${file}.` : `The last lines of ${file}:\n${tail}`;
  if (cause === undefined) {
    return new EngineError(
      'ENGINE_START_TIMEOUT',
      `The embedded engine did not answer within ${String(START_TIMEOUT_MS)} ms. ${log}`,
    );
  }
  const busyPort = /port (\d+): listen \S+ \S+: bind: address already in use/.exec(tail)?.[1];
  if (busyPort !== undefined) return portInUseError(Number(busyPort));
  return new EngineError(
    'ENGINE_START_FAILED',
    `The embedded engine ended while it started (${cause}). If its database ${DATABASE_FILE} is damaged or of a newer ` +
      `version, put back a copy, use the newer Temporal CLI, or move it away: sessions stay in the log. ${log}`,
  );
}
