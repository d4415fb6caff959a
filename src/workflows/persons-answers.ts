/**
 * Waiting for people: the signals that tell of an answer, and the time after which none is waited for any more.
 *
 * Owns no answer: a nudge says only that the log is to be read, so one that is late, double or a stranger's changes
 * nothing.
 */
import { condition, log, setHandler } from '@temporalio/workflow';
import { answerQuestionSignal, decideApprovalSignal, type PlannedCall } from '../contract/agent-turn.js';

/** A nudge may come before the call waits for it; of those that nothing waits for the oldest are forgotten. */
const REMEMBERED_NUDGES = 1000;
/** When the time is over the log's clock may still be behind: it is asked again after this. */
const EXPIRY_PAUSE_MS = 1000;

export interface PersonsAnswers {
  /** Resolves when there may be an answer, or when its time is over. */
  wait(asked: PlannedCall['asked']): Promise<void>;
}

/** Listens from now on. `onWaiting` and `onAnswered` are called around each wait. */
export function listenForAnswers(hooks: { onWaiting(): void; onAnswered(): void }): PersonsAnswers {
  const told = new Set<string>();
  const tell = (id: unknown): void => {
    if (typeof id !== 'string') {
      log.warn('a signal without an id was ignored');
      return;
    }
    told.add(id);
    for (const oldest of told) {
      if (told.size <= REMEMBERED_NUDGES) break;
      told.delete(oldest);
    }
  };
  // A signal from outside may carry anything.
  setHandler(decideApprovalSignal, (signal: { approvalId?: unknown } | undefined) => {
    tell(signal?.approvalId);
  });
  setHandler(answerQuestionSignal, (signal: { questionId?: unknown } | undefined) => {
    tell(signal?.questionId);
  });
  const expiriesSeen = new Set<string>();
  return {
    wait: async (asked) => {
      if (asked === undefined) return;
      const { id, expiresAt } = asked;
      hooks.onWaiting();
      try {
        if (expiresAt === undefined) await condition(() => told.has(id));
        else {
          const leftMs = expiriesSeen.has(id) ? EXPIRY_PAUSE_MS : Math.max(1, expiresAt - Date.now());
          const answered = await condition(() => told.has(id), leftMs);
          if (!answered) expiriesSeen.add(id);
        }
      } finally {
        hooks.onAnswered();
      }
      told.delete(id);
    },
  };
}
