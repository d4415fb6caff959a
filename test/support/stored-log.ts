/** Puts a log that was made in memory into a store, with the blobs that it names. */
import { v7 as uuidv7 } from 'uuid';
import type { NewEvent, SessionEvent } from '../../src/contract/events.js';
import type { SessionId, SessionUid } from '../../src/contract/ids.js';
import { digestOf } from '../../src/store/digest.js';
import type { SessionStore } from '../../src/store/session-store.js';
import { SOME_SHA256 } from './log-builder.js';

const TOOL = new TextEncoder().encode('{"name":"read"}');

/** The session of the log, which begins with `session/created`; `SOME_SHA256` becomes the digest of a blob that is there. */
export async function storeLog(
  store: SessionStore,
  events: readonly SessionEvent[],
  id: string,
): Promise<SessionUid> {
  const uid = uuidv7() as SessionUid;
  const [created, ...rest] = JSON.parse(
    JSON.stringify(events).replaceAll(SOME_SHA256, digestOf(TOOL)),
  ) as SessionEvent[];
  if (created?.type !== 'session/created') throw new Error('The log has no beginning.');
  const { settings } = created.data;
  await store.createSession({ tenant: 'tenant', id: id as SessionId, uid, settings, bodySha256: 'body' });
  await store.saveBlob(uid, TOOL, 'application/json');
  await store.transact(uid, (transaction) => transaction.append(rest.map(factOf)));
  return uid;
}

function factOf(event: SessionEvent): NewEvent {
  const { type, turn, step, surface, sources, data } = event;
  const envelope = Object.entries({ turn, step, surface, sources }).filter(
    ([, value]) => value !== undefined,
  );
  return { type, ...Object.fromEntries(envelope), data } as NewEvent;
}
