/**
 * What people decide: approvals and answers enter the log inside one transaction on their session, and the first one
 * stands (DESIGN 10).
 *
 * Owns who comes first, also against the clock and against a cancel. Whether a body is valid is checked before, and
 * telling the engine comes after; both are elsewhere.
 */
import { isDeepStrictEqual } from 'node:util';
import type { Answer, EventData, EventOf } from '../contract/events.js';
import type { ApprovalId, QuestionId } from '../contract/ids.js';
import { approvalDecided, expireAsks, questionAnswered } from '../core/asks.js';
import type { LogTransaction } from './session-store.js';

/** A person's word on an approval, as it will stand in the log. */
export type PersonsDecision = EventData<'approval/decided'> & { readonly outcome: 'allowed' | 'denied' };

/** A person's answers to the questions of one call. */
export interface PersonsAnswer {
  readonly questionId: QuestionId;
  readonly answers: readonly Answer[];
  readonly by: string;
}

/** How an ask was closed without a person, or will be: `cancelling` says that its turn has a stored cancel. */
export type ClosedHow = 'expired' | 'withdrawn' | 'unavailable' | 'cancelling';

/**
 * How a decision was met. `stands`: the log says so, by this decision or by an earlier one that says the same.
 * `contradicts`: the log has another person's word, which differs.
 */
export type Settlement<E> =
  | { readonly kind: 'stands'; readonly event: E }
  | { readonly kind: 'contradicts'; readonly event: E }
  | { readonly kind: 'closed'; readonly how: ClosedHow };

/**
 * Decides approvals of the transaction's session, each on its own and in their order; says of each how it was met.
 *
 * All of them must have been asked in this session. What has expired by the transaction's time is closed as such first.
 */
export async function decideApprovals<D extends { readonly decision: PersonsDecision }>(
  transaction: LogTransaction,
  due: readonly D[],
): Promise<readonly { readonly due: D; readonly settlement: Settlement<EventOf<'approval/decided'>> }[]> {
  await transaction.append(expireAsks(transaction.state, transaction.at));
  const { state } = transaction;
  const open = new Set<ApprovalId>(state.approvals.map(({ approvalId }) => approvalId));
  const isLate = ({ decision }: D) => state.openTurn?.cancel != null && open.has(decision.approvalId);
  // For one that is closed the append returns the event that closed it, and so it does for the second of two in one list.
  const events = await transaction.append(
    due.filter((one) => !isLate(one)).map(({ decision }) => approvalDecided(state, decision)),
  );
  const standing = new Map(
    events.flatMap((event) =>
      event.type === 'approval/decided' ? [[event.data.approvalId, event] as const] : [],
    ),
  );
  return due.map((one) => {
    const event = standing.get(one.decision.approvalId);
    return {
      due: one,
      settlement:
        event === undefined ? { kind: 'closed', how: 'cancelling' } : settlementOf(event, one.decision),
    };
  });
}

function settlementOf(
  event: EventOf<'approval/decided'>,
  decision: PersonsDecision,
): Settlement<EventOf<'approval/decided'>> {
  const { outcome } = event.data;
  if (outcome !== 'allowed' && outcome !== 'denied') return { kind: 'closed', how: outcome };
  return { kind: outcome === decision.outcome ? 'stands' : 'contradicts', event };
}

/** Answers a question of the transaction's session, as {@link decideApprovals} does with an approval. */
export async function answerQuestion(
  transaction: LogTransaction,
  { questionId, answers, by }: PersonsAnswer,
): Promise<Settlement<EventOf<'question/answered'>>> {
  await transaction.append(expireAsks(transaction.state, transaction.at));
  const { state } = transaction;
  if (state.openTurn?.cancel != null && state.questions.includes(questionId)) {
    return { kind: 'closed', how: 'cancelling' };
  }
  const [event] = await transaction.append([
    questionAnswered(state, { questionId, answers: [...answers], by, outcome: 'answered' }),
  ]);
  if (event?.type !== 'question/answered') throw new Error(`The question ${questionId} has no answer.`);
  const { outcome, answers: standing } = event.data;
  if (outcome !== 'answered') return { kind: 'closed', how: outcome };
  return { kind: isSame(standing ?? [], answers) ? 'stands' : 'contradicts', event };
}

/** The order in which the questions were answered says nothing. */
function isSame(one: readonly Answer[], other: readonly Answer[]): boolean {
  const byId = (answers: readonly Answer[]) => answers.toSorted((a, b) => (a.id < b.id ? -1 : 1));
  return isDeepStrictEqual(byId(one), byId(other));
}
