/** `turnkeeper sessions delete` and `sessions prune`. */
import { ApiError } from '../../client/api-error.js';
import type { Client } from '../../client/client.js';
import type { SessionResource } from '../../contract/http.js';
import { UsageError } from '../cli-error.js';
import { printable, type CliIo } from '../cli-io.js';
import { EXIT } from '../exit-codes.js';

/** Deletes the sessions that are named, whatever they are doing. */
export async function deleteSessions(ids: readonly string[], io: CliIo, client: Client): Promise<number> {
  for (const id of ids) {
    await client.deleteSession(id);
    await io.stdout.write(`${id}\n`);
  }
  return EXIT.completed;
}

export interface PruneOptions {
  /** Such as `30d`. */
  readonly olderThan: string;
  readonly dryRun?: boolean;
}

const PAGE = 1000;
const UNIT_MS = { d: 86_400_000, h: 3_600_000, m: 60_000 } as const;

/**
 * Deletes the sessions in which nothing was done for so long, and prints their ids. Whether that is so is asked again by
 * the server at each deletion: one that is in use by then stays.
 */
export async function pruneSessions(
  { olderThan, dryRun = false }: PruneOptions,
  io: CliIo,
  client: Client,
): Promise<number> {
  const unchangedSince = new Date(Date.now() - ageOf(olderThan)).toISOString();
  let pruned = 0;
  for await (const session of idleSessions(client)) {
    if (session.updatedAt > unchangedSince) continue;
    if (!dryRun && !(await deleteUnchanged(client, session.id, unchangedSince))) continue;
    pruned += 1;
    await io.stdout.write(
      `${session.id}  ${session.updatedAt}  ${printable(session.title)}`.trimEnd() + '\n',
    );
  }
  await io.stderr.write(`${String(pruned)} ${dryRun ? 'would be deleted' : 'deleted'}\n`);
  return EXIT.completed;
}

async function* idleSessions(client: Client): AsyncGenerator<SessionResource, void, void> {
  for (let cursor: string | null | undefined; cursor !== null;) {
    const page = await client.listSessions({
      status: 'idle',
      limit: PAGE,
      ...(cursor === undefined ? {} : { cursor }),
    });
    yield* page.items;
    cursor = page.nextCursor;
  }
}

async function deleteUnchanged(client: Client, id: string, unchangedSince: string): Promise<boolean> {
  try {
    await client.deleteSession(id, { unchangedSince });
    return true;
  } catch (error) {
    if (error instanceof ApiError && (error.code === 'SESSION_CHANGED' || error.code === 'NOT_FOUND'))
      return false;
    throw error;
  }
}

/** Milliseconds. @throws UsageError. */
function ageOf(text: string): number {
  const [, count, unit] = /^(\d{1,6})([dhm])$/.exec(text) ?? [];
  if (count === undefined) {
    throw new UsageError(`"${text}" is no age; it looks like 30d, 12h or 90m.`);
  }
  return Number(count) * UNIT_MS[unit as keyof typeof UNIT_MS];
}
