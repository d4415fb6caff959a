/** How what waits for a person is listed and shown: what `approvals` and `questions` have in common. */
import type { AskListOptions } from '../client/client.js';
import type { CliIo } from './cli-io.js';
import { EXIT } from './exit-codes.js';
import { tableText } from './table.js';

export interface ListAsksOptions {
  readonly session?: string;
  /** Also what is closed. */
  readonly all?: boolean;
  readonly limit?: number;
  readonly json?: boolean;
}

/** What a list is of. */
export interface AskList<R> {
  readonly fetch: (
    query: AskListOptions,
  ) => Promise<{ readonly items: readonly R[]; readonly nextCursor: string | null }>;
  readonly headings: readonly string[];
  readonly row: (ask: R) => readonly string[];
  /** Said where the list is empty. */
  readonly nothing: string;
}

const LIST_LIMIT = 100;

/** Prints a list, newest first: a table, or with `json` one object a line. */
export async function listAsks<R>(
  { session, all = false, limit = LIST_LIMIT, json = false }: ListAsksOptions,
  io: CliIo,
  { fetch, headings, row, nothing }: AskList<R>,
): Promise<number> {
  const { items, nextCursor } = await fetch({
    limit,
    status: all ? 'all' : 'open',
    ...(session === undefined ? {} : { session }),
  });
  if (json) {
    for (const ask of items) await io.stdout.write(`${JSON.stringify(ask)}\n`);
  } else if (items.length === 0) {
    await io.stderr.write(`${nothing}\n`);
  } else {
    await io.stdout.write(tableText([headings, ...items.map(row)]));
  }
  if (nextCursor !== null) await io.stderr.write('There are more; --limit shows up to 1000.\n');
  return EXIT.completed;
}

/** Prints all that there is to know about one. */
export async function showAsk<R>(
  ask: R,
  { json = false }: { readonly json?: boolean },
  io: CliIo,
  details: (ask: R) => string,
): Promise<number> {
  await io.stdout.write(json ? `${JSON.stringify(ask)}\n` : details(ask));
  return EXIT.completed;
}
