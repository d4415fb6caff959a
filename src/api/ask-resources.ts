/**
 * Makes the API's approvals and questions: the row says where they stand in the log, the events say what they are.
 *
 * An event is never changed, so two reads amount to one cut of the log.
 */
import { parseArgumentsObject } from '../core/arguments-object.js';
import type { EventOf, EventType } from '../contract/events.js';
import type { ApprovalResource, QuestionResource } from '../contract/http-asks.js';
import type { SessionUid, Sha256 } from '../contract/ids.js';
import { wholeString } from '../store/large-content.js';
import type { AskRecord, SessionStore } from '../store/session-store.js';

type AskStore = Pick<SessionStore, 'readEvents' | 'readBlob'>;

/** The approval of a row, as of that row. @throws `StoreError` `SESSION_NOT_FOUND`. */
export async function readApproval(store: AskStore, record: AskRecord): Promise<ApprovalResource> {
  const { at: askedAt, data, turn = record.turn, step = record.step } = await askedApproval(store, record);
  const { approvalId, callId, tool, argumentsSha256, reason, preview, expiresAt } = data;
  const readBlob = (sha256: Sha256) => store.readBlob(record.uid, sha256);
  const closed =
    record.closedSeq === null
      ? undefined
      : await eventAt(store, record.uid, record.closedSeq, 'approval/decided');
  return {
    approvalId,
    sessionId: record.sessionId,
    turn,
    step,
    callId,
    tool,
    arguments: parseArgumentsObject(await wholeString(data.arguments, readBlob)) ?? {},
    argumentsSha256,
    reason,
    ...(preview === undefined ? {} : { preview }),
    askedAt,
    ...(expiresAt === undefined ? {} : { expiresAt }),
    ...(closed === undefined ? {} : { decision: decisionOf(closed) }),
  };
}

function decisionOf({ data, at }: EventOf<'approval/decided'>): NonNullable<ApprovalResource['decision']> {
  const { outcome, scope, by, note, arguments: edited, match } = data;
  return {
    outcome,
    ...(scope === undefined ? {} : { scope }),
    by,
    ...(note === undefined ? {} : { note }),
    ...(edited === undefined ? {} : { arguments: edited }),
    ...(match === undefined ? {} : { match }),
    at,
  };
}

/** The question of a row, as of that row. @throws `StoreError` `SESSION_NOT_FOUND`. */
export async function readQuestion(store: AskStore, record: AskRecord): Promise<QuestionResource> {
  const { at: askedAt, data, turn = record.turn, step = record.step } = await askedQuestion(store, record);
  const { questionId, callId, questions, expiresAt } = data;
  const closed =
    record.closedSeq === null
      ? undefined
      : await eventAt(store, record.uid, record.closedSeq, 'question/answered');
  return {
    questionId,
    sessionId: record.sessionId,
    turn,
    step,
    callId,
    questions,
    askedAt,
    ...(expiresAt === undefined ? {} : { expiresAt }),
    ...(closed === undefined ? {} : { answer: answerOf(closed) }),
  };
}

function answerOf({ data, at }: EventOf<'question/answered'>): NonNullable<QuestionResource['answer']> {
  const { outcome, answers, by } = data;
  return { outcome, answers, by, at };
}

/** The event by which an approval was asked for. */
export async function askedApproval(
  store: AskStore,
  { uid, askedSeq }: AskRecord,
): Promise<EventOf<'approval/asked'>> {
  return eventAt(store, uid, askedSeq, 'approval/asked');
}

/** The event by which a question was asked. */
export async function askedQuestion(
  store: AskStore,
  { uid, askedSeq }: AskRecord,
): Promise<EventOf<'question/asked'>> {
  return eventAt(store, uid, askedSeq, 'question/asked');
}

async function eventAt<T extends EventType>(
  store: AskStore,
  uid: SessionUid,
  seq: number,
  type: T,
): Promise<EventOf<T>> {
  const [event] = await store.readEvents(uid, { after: seq - 1, limit: 1 });
  if (event?.seq === seq && event.type === type) return event as EventOf<T>;
  throw new Error(`Event ${String(seq)} of session ${uid} is no ${type}, as the approvals table says.`);
}
