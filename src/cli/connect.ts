/**
 * Finds the server that a command talks to: the one that is named, else the live one of the home, else (for `run`) one that
 * is started in this process. With `serve.ts`, the only place where commands touch the runtime.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { createClient, type Client } from '../client/client.js';
import { loadConfiguration } from '../runtime/configuration/load-configuration.js';
import { HomeLockedError } from '../runtime/home/home-error.js';
import { readLiveServer } from '../runtime/home/home-lock.js';
import { startTurnkeeper } from '../runtime/turnkeeper.js';
import { CommandError, UsageError } from './cli-error.js';
import type { CliIo } from './cli-io.js';

/** The flags by which a command names its server. */
export interface ServerFlags {
  readonly server?: string | undefined;
  readonly config?: string | undefined;
  readonly home?: string | undefined;
}

export interface Connection {
  readonly client: Client;
  /** Whether the server sees the same folders as this command. */
  readonly isLocal: boolean;
  /** Whether the server has ended for good, so that another connection is needed. */
  isGone(): boolean;
  /** Ends what was started for this command, with all that was accepted written down. */
  close(): Promise<void>;
}

/** How long a home may be held by a process that does not answer (yet, or any more), in milliseconds. */
const HANDOVER_MS = 30_000;
const HANDOVER_POLL_MS = 200;

/** The server of `--server`, of `TURNKEEPER_SERVER`, or the live one of the home. @throws CommandError, UsageError. */
export function connect(flags: ServerFlags, io: Pick<CliIo, 'env'>): Connection {
  const connection = namedServer(flags, io) ?? liveServer(homeOf(flags, io), io);
  if (connection !== undefined) return connection;
  throw new CommandError(
    `No server runs on the home ${homeOf(flags, io)}. Start one with "turnkeeper serve", or name one with --server or TURNKEEPER_SERVER.`,
  );
}

/** As {@link connect}; without a server one is started in this process, for as long as the connection is open. */
export async function connectOrStart(
  flags: ServerFlags,
  io: Pick<CliIo, 'env' | 'stderr'>,
): Promise<Connection> {
  const named = namedServer(flags, io);
  if (named !== undefined) return named;
  const home = homeOf(flags, io);
  for (let waitedMs = 0; ; waitedMs += HANDOVER_POLL_MS) {
    const live = liveServer(home, io);
    if (live !== undefined) return live;
    try {
      return await startOwn(flags, io);
    } catch (error) {
      // Whoever holds the home is about to answer, or about to leave it.
      if (!(error instanceof HomeLockedError) || waitedMs >= HANDOVER_MS) throw error;
      await delay(HANDOVER_POLL_MS);
    }
  }
}

function namedServer({ server }: ServerFlags, { env }: Pick<CliIo, 'env'>): Connection | undefined {
  const baseUrl = server ?? env.TURNKEEPER_SERVER;
  if (baseUrl === undefined || baseUrl === '') return undefined;
  if (!/^https?:\/\//.test(baseUrl) || !URL.canParse(baseUrl)) {
    throw new UsageError(`"${baseUrl}" is not the address of a server; it looks like http://127.0.0.1:8787.`);
  }
  return {
    client: createClient({ baseUrl, apiKey: env.TURNKEEPER_API_KEY }),
    isLocal: ['127.0.0.1', 'localhost', '[::1]'].includes(new URL(baseUrl).hostname),
    isGone: () => false,
    close: () => Promise.resolve(),
  };
}

function liveServer(home: string, { env }: Pick<CliIo, 'env'>): Connection | undefined {
  const server = readLiveServer(home);
  if (server === undefined) return undefined;
  return {
    client: createClient({ baseUrl: server.url, apiKey: env.TURNKEEPER_API_KEY }),
    isLocal: true,
    isGone: () => readLiveServer(home)?.url !== server.url,
    close: () => Promise.resolve(),
  };
}

async function startOwn(
  { config, home }: ServerFlags,
  { env, stderr }: Pick<CliIo, 'env' | 'stderr'>,
): Promise<Connection> {
  const turnkeeper = await startTurnkeeper({
    // A port of its own, so that it stands in nobody's way, and for this machine alone.
    flags: { config, home, host: '127.0.0.1', port: 0 },
    env,
    onProgress: (message) => {
      if (stderr.isTerminal) void stderr.write(`${message}\n`);
    },
  });
  let failure: unknown;
  turnkeeper.stopped.catch((error: unknown) => {
    failure = error;
  });
  return {
    client: createClient({ baseUrl: turnkeeper.url, apiKey: env.TURNKEEPER_API_KEY }),
    isLocal: true,
    isGone: () => failure !== undefined,
    close: () => turnkeeper.stop(),
  };
}

function homeOf({ config, home }: ServerFlags, { env }: Pick<CliIo, 'env'>): string {
  return loadConfiguration({ flags: { config, home }, env }).configuration.home;
}
