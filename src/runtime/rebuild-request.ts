/**
 * The request of a past step, made again from its session's log and blobs alone, byte for byte.
 *
 * Owns which events a request was made of. How a conversation becomes a request and a body is what the live call uses.
 */
import { modelRequest } from '../activities/model-request.js';
import type { EventData, SessionEvent } from '../contract/events.js';
import type { Sha256 } from '../contract/ids.js';
import { deriveMessages } from '../core/messages.js';
import { serializeRequest } from '../model/serialize-request.js';

export interface StepPlace {
  readonly turn: number;
  readonly step: number;
}

/** The log has no request of that step. */
export class NoSuchRequestError extends Error {
  override readonly name = 'NoSuchRequestError';
}

/** What a step's beginning appends in one transaction; its request is made of all that stands in the log after that. */
const BEGINNING: ReadonlySet<SessionEvent['type']> = new Set([
  'step/start',
  'system/message',
  'user/message',
  'request/header',
  'request/context',
]);

/**
 * The exact body of the request that the step sent; each of its attempts sent the same.
 *
 * @param events the session's log from its start, at least up to the step's end.
 * @throws NoSuchRequestError where the step is not in the log, or ended before its call; what `readBlob` throws.
 */
export async function rebuildRequest(
  events: readonly SessionEvent[],
  place: StepPlace,
  readBlob: (sha256: Sha256) => Promise<Uint8Array>,
): Promise<string> {
  const before = eventsBefore(events, place);
  const header = headerIn(before);
  if (header === undefined) throw missing(place, 'its log has no request/header');
  const request = await modelRequest(header, deriveMessages(before), readBlob);
  return serializeRequest(header, request, readBlob);
}

/** The log as it was when the step's call was made. */
function eventsBefore(events: readonly SessionEvent[], place: StepPlace): readonly SessionEvent[] {
  const isOfStep = ({ turn, step }: SessionEvent) => turn === place.turn && step === place.step;
  const start = events.findIndex((event) => event.type === 'step/start' && isOfStep(event));
  if (start === -1) throw missing(place, 'the session has no such step');
  const length = events.slice(start).findIndex((event) => !BEGINNING.has(event.type));
  const end = length === -1 ? events.length : start + length;
  const rest = events.slice(end).filter(isOfStep);
  const called = rest.some(({ type }) => type === 'assistant/message' || type === 'assistant/attempt');
  if (!called && rest.some(({ type }) => type === 'step/end')) {
    throw missing(place, 'the turn ended before the request was sent');
  }
  return events.slice(0, end);
}

function headerIn(events: readonly SessionEvent[]): EventData<'request/header'> | undefined {
  return events.flatMap((event) => (event.type === 'request/header' ? [event.data] : [])).at(-1);
}

function missing({ turn, step }: StepPlace, reason: string): NoSuchRequestError {
  return new NoSuchRequestError(
    `There is no request of turn ${String(turn)}, step ${String(step)}: ${reason}.`,
  );
}
