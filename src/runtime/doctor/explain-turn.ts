/** Why an open turn is where it is, in words. Pure: from its log, and from how its workflow stands with the engine. */
import type { WorkflowCondition } from '../../contract/turn-engine.js';
import { inWords } from '../../core/standstill.js';
import type { OpenStep, SessionState } from '../../core/session-state.js';

/** What is known of the workflow; null where nobody can be asked. */
export type KnownCondition = WorkflowCondition | null;

export interface Explanation {
  /** `waits`: for somebody, or for a time. `works`: something runs. `stuck`: nothing will happen by itself. */
  readonly kind: 'waits' | 'works' | 'stuck';
  /** Goes on after "turn 3 ". */
  readonly text: string;
}

export interface TurnToExplain {
  readonly state: SessionState;
  readonly condition: KnownCondition;
  /** When the session's log last grew, ISO 8601. */
  readonly updatedAt: string;
  readonly isServed: boolean;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** A workflow task that failed so often in a row fails for a reason that stays. */
const STUCK_AFTER_TASKS = 3;

export function explainTurn({ state, condition, updatedAt, isServed, now }: TurnToExplain): Explanation {
  const turn = state.openTurn;
  if (turn === null) return works('is none');
  const since = `since ${updatedAt} (${inWords(now - Date.parse(updatedAt))})`;
  if (!isServed) return stuck(`waits for a server ${since}: none runs. "turnkeeper serve" starts one`);
  if (condition?.kind === 'running' && condition.failedTasks >= STUCK_AFTER_TASKS) {
    return stuck(
      `cannot be replayed by this build (its workflow task failed ${String(condition.failedTasks)} times): start the ` +
        'build that can, or terminate its workflow, and a fresh run goes on from the log',
    );
  }
  const asked = waitsForPerson(state);
  if (asked !== undefined) return waits(`waits for ${asked} since ${turn.waitingSince ?? updatedAt}`);
  if (condition?.kind === 'missing') return waits('has no workflow: the server starts it in a moment');
  if (condition?.kind === 'closed') {
    return waits(`has a workflow that is ${condition.status}: the server starts a fresh run in a moment`);
  }
  if (turn.cancel !== null) return works(`is being cancelled ${since}`);
  if (!turn.started) return waits(`was not entered yet ${since}`);
  const { step } = turn;
  if (step === null) return works(`is between two steps ${since}`);
  return inStep(step, condition, { since, now });
}

function waitsForPerson({ approvals, questions }: SessionState): string | undefined {
  const [approval] = approvals;
  const more = approvals.length + questions.length - 1;
  const others = more > 0 ? ` and ${String(more)} more` : '';
  if (approval !== undefined) return `approval ${approval.approvalId}${others}`;
  const [question] = questions;
  return question === undefined ? undefined : `an answer to question ${question}${others}`;
}

function inStep(
  step: OpenStep,
  condition: KnownCondition,
  { since, now }: { readonly since: string; readonly now: number },
): Explanation {
  const where = `in step ${String(step.number)}`;
  if (step.retryAt !== null && Date.parse(step.retryAt) > now) {
    const why = step.failure === null ? '' : ` after ${step.failure.code}`;
    return waits(
      `tries its model call again at ${step.retryAt}${why}, attempt ${String(step.lastAttempt + 1)}, ${where}`,
    );
  }
  const activities = condition?.kind === 'running' ? condition.activities : [];
  const worker = activities.find(({ workerIdentity }) => workerIdentity !== undefined)?.workerIdentity;
  const by = worker === undefined ? '' : `, on worker ${worker}`;
  if (step.message === null) return works(`calls its model ${where}, ${since}${by}`);
  const running = step.calls.filter(({ resultSeq, callSeq }) => callSeq !== null && resultSeq === null);
  if (running.length > 0) {
    return works(`runs ${[...new Set(running.map(({ name }) => name))].join(', ')} ${where}, ${since}${by}`);
  }
  return works(`is ${where}, ${since}${by}`);
}

const waits = (text: string): Explanation => ({ kind: 'waits', text });
const works = (text: string): Explanation => ({ kind: 'works', text });
const stuck = (text: string): Explanation => ({ kind: 'stuck', text });
