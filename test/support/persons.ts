/** A person who decides what a turn asks: straight in the log, and the engine told or not. */
import { approvalDecided, questionAnswered } from '../../src/core/asks.js';
import type { Answer, EventData } from '../../src/contract/events.js';
import type { ApprovalId, QuestionId, SessionUid } from '../../src/contract/ids.js';
import type { TurnRuntime } from './turn-runtime.js';

export type Decision = Partial<EventData<'approval/decided'>>;

/** Resolves with the ids of the open approvals, in call order, once there are as many. */
export async function openApprovals(
  runtime: TurnRuntime,
  uid: SessionUid,
  count: number,
): Promise<ApprovalId[]> {
  for (;;) {
    const { approvals, openTurn } = await runtime.store.readState(uid);
    if (approvals.length >= count) return approvals.map(({ approvalId }) => approvalId);
    if (openTurn === null) throw new Error('The turn has ended and asked nothing.');
    await untilNotice(runtime, uid);
  }
}

/** Resolves with the next commit on the session, or soon where it was missed. */
function untilNotice({ store }: TurnRuntime, uid: SessionUid): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      unwatch();
      resolve();
    };
    const timer = setTimeout(done, 100);
    const unwatch = store.watch(uid, done);
  });
}

/** Stores a decision, and tells the engine of it unless `silent`. */
export async function decide(
  runtime: TurnRuntime,
  uid: SessionUid,
  approvalId: ApprovalId,
  { silent = false, ...decision }: Decision & { silent?: boolean } = {},
): Promise<void> {
  const turn = await runtime.store.transact(uid, async (transaction) => {
    const data = { approvalId, outcome: 'allowed', by: 'local', ...decision } as const;
    await transaction.append([approvalDecided(transaction.state, data)]);
    return transaction.state.openTurn?.number ?? 0;
  });
  if (!silent) await runtime.engine.tellDecision(uid, turn, { kind: 'approval', approvalId });
}

/** Stores the answers to a question, and tells the engine of them. */
export async function answer(
  runtime: TurnRuntime,
  uid: SessionUid,
  questionId: QuestionId,
  answers: Answer[],
): Promise<void> {
  const turn = await runtime.store.transact(uid, async (transaction) => {
    const data = { questionId, answers, by: 'local', outcome: 'answered' } as const;
    await transaction.append([questionAnswered(transaction.state, data)]);
    return transaction.state.openTurn?.number ?? 0;
  });
  await runtime.engine.tellDecision(uid, turn, { kind: 'question', questionId });
}
