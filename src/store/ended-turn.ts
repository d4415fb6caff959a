/** A turn that has ended, as the API and webhooks show it: from its row, with what stands in the blob store. */
import type { TurnResource } from '../contract/http.js';
import type { SessionUid, Sha256 } from '../contract/ids.js';
import { movedValue, textOfBlob } from './large-content.js';
import { StoreError, type SessionStore, type TurnRecord } from './session-store.js';

/** A turn that has ended, with its whole output. */
export async function endedTurnResource(
  store: Pick<SessionStore, 'readBlob' | 'readState'>,
  record: TurnRecord,
): Promise<TurnResource> {
  const { uid, output, structured } = record;
  const text =
    output === undefined || typeof output === 'string'
      ? output
      : textOfBlob(await bytesOf(store, uid, output.sha256));
  return {
    sessionId: record.sessionId,
    turn: record.turn,
    status: 'ended',
    ...(record.reason === undefined ? {} : { reason: record.reason }),
    ...(text === undefined ? {} : { output: text }),
    ...(structured === undefined
      ? {}
      : { structured: await movedValue(structured, (sha256) => bytesOf(store, uid, sha256)) }),
    usage: record.usage,
    steps: record.steps,
    requestIds: [...record.requestIds],
    startedAt: record.startedAt,
    ...(record.endedAt === undefined ? {} : { endedAt: record.endedAt }),
    approvals: [],
  };
}

async function bytesOf(
  store: Pick<SessionStore, 'readBlob' | 'readState'>,
  uid: SessionUid,
  sha256: Sha256,
): Promise<Uint8Array> {
  const stored = await store.readBlob(uid, sha256);
  if (stored === undefined) {
    // Of a session that was deleted meanwhile this throws `SESSION_NOT_FOUND`.
    await store.readState(uid);
    throw new StoreError('LOG_CORRUPT', `The blob ${sha256} of a turn's output is missing.`);
  }
  return stored.bytes;
}
