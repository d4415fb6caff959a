/** What the answer of a person means for the call that waited for it. */
import type { Answer } from '../contract/events.js';
import type { JsonValue } from '../contract/json.js';
import type { CallAsk } from '../core/session-state.js';
import type { PersonsVerdict } from '../tools/pipeline.js';

export interface AnsweredAsk {
  readonly verdict: PersonsVerdict;
  readonly answers: readonly Answer[];
  /** What runs in the place of what the model asked for. */
  readonly arguments?: Readonly<Record<string, JsonValue>>;
}

/** The answer to an ask that is closed; null while it is open. */
export function answerOf(ask: CallAsk): AnsweredAsk | null {
  if (ask.kind === 'question') {
    if (ask.answer === null) return null;
    const { outcome, answers } = ask.answer;
    if (outcome === 'answered') return { verdict: { kind: 'allowed' }, answers: answers ?? [] };
    return outcome === 'expired'
      ? refused('APPROVAL_EXPIRED', 'Nobody answered in time. Go on without an answer, or ask again.')
      : refused(
          'APPROVAL_UNAVAILABLE',
          'Nobody is there who could answer the questions. Go on without an answer.',
        );
  }
  if (ask.decision === null) return null;
  const { outcome, by, note, arguments: edited } = ask.decision;
  switch (outcome) {
    case 'allowed':
      return {
        verdict: { kind: 'allowed' },
        answers: [],
        ...(edited === undefined ? {} : { arguments: edited }),
      };
    case 'denied':
      return refused('DENIED', `${by} denied the call.${note === undefined ? '' : ` Their note: ${note}`}`);
    case 'expired':
      return refused('APPROVAL_EXPIRED', 'Nobody decided in time, so the call did not run.');
    case 'unavailable':
    case 'withdrawn':
      return refused('APPROVAL_UNAVAILABLE', 'Nobody was there to approve the call, so it did not run.');
  }
}

function refused(code: Extract<PersonsVerdict, { kind: 'refused' }>['code'], reason: string): AnsweredAsk {
  return { verdict: { kind: 'refused', code, reason }, answers: [] };
}
