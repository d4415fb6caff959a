/** What lists of turns have in common: their filters, their pages, and the cursor of the list across sessions. */
import type { Request } from 'express';
import { z } from 'zod';
import { turnStatusSchema, type TurnResource } from '../contract/http.js';
import { sessionUidSchema } from '../contract/ids.js';
import { endedTurnResource } from '../store/ended-turn.js';
import type { SessionStore, TurnFilter, TurnPlace, TurnRecord } from '../store/session-store.js';
import { parseQuery, queryParameters } from './request-input.js';
import { readTurn } from './resources.js';
import type { unlessDeleted } from './unless-deleted.js';

const METADATA = 'metadata.';

const time = z.iso.datetime({ offset: true }).transform((text) => new Date(text).toISOString());

const FILTERS = {
  limit: queryParameters.limit,
  status: turnStatusSchema.optional(),
  profile: queryParameters.text.optional(),
  since: time.optional(),
  until: time.optional(),
};

/** A list's query: its filter, its limit, and the cursor as the shape has it. @throws `ProblemError`. */
export function parseTurnQuery<C>(
  request: Request,
  cursorSchema: z.ZodType<C>,
): { readonly filter: TurnFilter; readonly limit: number; readonly cursor: C } {
  const keys = Object.keys(request.query).filter((key) => key.startsWith(METADATA) && key !== METADATA);
  const shape = Object.fromEntries(keys.map((key) => [key, z.string('must be given once')]));
  const parsed: Record<string, unknown> = parseQuery(request, { ...FILTERS, ...shape, cursor: cursorSchema });
  const { status, profile, since, until } = parsed as TurnFilter;
  const metadata = Object.fromEntries(keys.map((key) => [key.slice(METADATA.length), String(parsed[key])]));
  return {
    filter: {
      ...(status === undefined ? {} : { status }),
      ...(profile === undefined ? {} : { profile }),
      ...(since === undefined ? {} : { since }),
      ...(until === undefined ? {} : { until }),
      ...(keys.length === 0 ? {} : { metadata }),
    },
    limit: parsed.limit as number,
    cursor: parsed.cursor as C,
  };
}

/** The turns as they are now; `tolerant` says which ones are left out where they cannot be read. */
export async function turnResources(
  store: SessionStore,
  records: readonly TurnRecord[],
  tolerant: typeof unlessDeleted,
): Promise<TurnResource[]> {
  const items: TurnResource[] = [];
  for (const record of records) {
    const resource = await tolerant(() =>
      record.ended
        ? endedTurnResource(store, record)
        : readTurn(store, { uid: record.uid, id: record.sessionId }, record.turn),
    );
    if (resource !== undefined) items.push(resource);
  }
  return items;
}

/** A place in the list across sessions as its cursor spells it. */
export function turnCursor({ openedAt, uid, turn }: TurnPlace): string {
  return Buffer.from(JSON.stringify([openedAt, uid, turn])).toString('base64url');
}

const placeSchema = z.tuple([z.iso.datetime(), sessionUidSchema, z.number().int().positive()]);

/** Reads what {@link turnCursor} has written. */
export const turnCursorSchema = z
  .string('must be given once')
  .transform((text, context): TurnPlace => {
    const place = placeSchema.safeParse(parsedJson(Buffer.from(text, 'base64url').toString('utf8')));
    if (!place.success) {
      context.addIssue({ code: 'custom', message: 'is no cursor of this list' });
      return z.NEVER;
    }
    const [openedAt, uid, turn] = place.data;
    return { openedAt, uid, turn };
  })
  .optional();

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Not written by this server: no cursor.
    return undefined;
  }
}
