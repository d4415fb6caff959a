/** The list of turns, of one session or of all. */
import type { Client, TurnListOptions } from '../../client/client.js';
import type { TurnResource, TurnStatusName } from '../../contract/http.js';
import { UsageError } from '../cli-error.js';
import type { CliIo } from '../cli-io.js';
import { EXIT } from '../exit-codes.js';
import { tableText } from '../table.js';

export interface TurnsOptions {
  readonly session?: string;
  readonly status?: TurnStatusName;
  readonly profile?: string;
  readonly since?: string;
  readonly until?: string;
  /** `key=value`, each. */
  readonly metadata?: readonly string[];
  readonly limit?: number;
  readonly json?: boolean;
}

/** Lists turns, newest first. */
export async function listTurns(options: TurnsOptions, io: CliIo, client: Client): Promise<number> {
  const { session, json = false, limit = 20, status, profile, since, until, metadata = [] } = options;
  const list: TurnListOptions = {
    limit,
    ...(status === undefined ? {} : { status }),
    ...(profile === undefined ? {} : { profile }),
    ...(since === undefined ? {} : { since }),
    ...(until === undefined ? {} : { until }),
    metadata: entriesOf(metadata),
  };
  const { items, nextCursor } =
    session === undefined ? await client.allTurns(list) : await client.turns(session, list);
  if (json) for (const turn of items) await io.stdout.write(`${JSON.stringify(turn)}\n`);
  else if (items.length > 0) await io.stdout.write(tableOf(items));
  if (items.length === 0) await io.stderr.write('There are no such turns.\n');
  if (nextCursor !== null) await io.stderr.write('There are more; see --limit.\n');
  return EXIT.completed;
}

function tableOf(turns: readonly TurnResource[]): string {
  return tableText([
    ['SESSION', 'TURN', 'STARTED', 'STEPS', 'STATUS'],
    ...turns.map(({ sessionId, turn, startedAt, steps, status, reason }) => [
      sessionId,
      String(turn),
      startedAt,
      String(steps),
      reason === undefined ? status : reason.kind,
    ]),
  ]);
}

function entriesOf(pairs: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    pairs.map((pair) => {
      const at = pair.indexOf('=');
      if (at < 1) throw new UsageError(`"${pair}" is no key=value.`);
      return [pair.slice(0, at), pair.slice(at + 1)];
    }),
  );
}
