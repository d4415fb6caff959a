/** Why an open turn is where it is, in words. Pure: from its log, and from how its workflow stands with the engine. */
import type { EventData } from '../../contract/events.js';
import type { PendingActivity, WorkflowCondition } from '../../contract/turn-engine.js';
import { inWords } from '../../core/standstill.js';
import type { OpenStep, OpenTurn, SessionState } from '../../core/session-state.js';

export interface Explanation {
  /** `waits`: for somebody, or for a time. `works`: something runs. `stuck`: nothing will happen by itself. */
  readonly kind: 'waits' | 'works' | 'stuck';
  /** Goes on after "turn 3 ". */
  readonly text: string;
}

export interface TurnToExplain {
  readonly state: SessionState;
  /** Why the log cannot be read beyond `state`; null where it can. */
  readonly damage: string | null;
  /** How the workflow stands; null where the engine does not answer. */
  readonly condition: WorkflowCondition | null;
  /** The receipts of calls in the open step, in their order. */
  readonly receipts: readonly EventData<'tool/started'>[];
  /** When the session's log last grew, ISO 8601. */
  readonly updatedAt: string;
  readonly isServed: boolean;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** A workflow task that failed so often in a row fails for a reason that stays. */
const STUCK_AFTER_TASKS = 3;
/** A worker that is there takes what is due sooner. */
const UNTAKEN_AFTER_MS = 10_000;
const REPAIR = 'Stop the server and run "turnkeeper doctor --repair"';

export function explainTurn(facts: TurnToExplain): Explanation {
  const { state, damage, condition, isServed } = facts;
  const turn = state.openTurn;
  if (damage !== null) return stuck(`cannot go on: ${damage}. ${REPAIR}`);
  if (turn === null) return stuck(`is open in the list and over in the log. ${REPAIR}`);
  if (!isServed) {
    return stuck(`waits for a server ${sinceGrowth(facts)}: none runs. "turnkeeper serve" starts one`);
  }
  if (condition?.kind === 'running' && condition.failedTasks >= STUCK_AFTER_TASKS) {
    return stuck(
      `cannot be replayed by this build (its workflow task failed ${String(condition.failedTasks)} times): start the ` +
        'build that can, or terminate its workflow, and a fresh run goes on from the log',
    );
  }
  const asked = askedOf(state);
  if (asked !== undefined) {
    const later = lostWorkflow(condition);
    return waits(
      `waits for ${asked} since ${turn.waitingSince ?? facts.updatedAt}${later === undefined ? '' : `; it ${later}`}`,
    );
  }
  if (condition === null) return stuck('waits for the engine, which does not answer');
  const lost = lostWorkflow(condition);
  if (lost !== undefined) return waits(lost);
  return atWork(turn, condition.kind === 'running' ? condition.activities : [], facts);
}

function askedOf({ approvals, questions }: SessionState): string | undefined {
  const [approval] = approvals;
  const more = approvals.length + questions.length - 1;
  const others = more > 0 ? ` and ${String(more)} more` : '';
  if (approval !== undefined) return `approval ${approval.approvalId}${others}`;
  const [question] = questions;
  return question === undefined ? undefined : `an answer to question ${question}${others}`;
}

function lostWorkflow(condition: WorkflowCondition | null): string | undefined {
  if (condition?.kind === 'missing') return 'has no workflow: the server starts it in a moment';
  return condition?.kind === 'closed'
    ? `has a workflow that is ${condition.status}: the server starts a fresh run in a moment`
    : undefined;
}

function atWork(turn: OpenTurn, activities: readonly PendingActivity[], facts: TurnToExplain): Explanation {
  const since = sinceGrowth(facts);
  if (turn.cancel !== null) return works(`is being cancelled ${since}`);
  if (!turn.started) return waits(`was not entered yet ${since}`);
  const { step } = turn;
  if (step === null) return works(`is between two steps ${since}`);
  const where = `in step ${String(step.number)}`;
  if (step.retryAt !== null && Date.parse(step.retryAt) > facts.now) {
    return waits(`tries its model call again at ${step.retryAt}${whyAgain(step, facts.state)}, ${where}`);
  }
  const pending = activities.find(({ state }) => state === 'scheduled');
  if (pending !== undefined) {
    const untaken = waitsForWorker(pending, facts.now);
    if (untaken !== undefined) return waits(`${untaken}, ${where}`);
  }
  const by = onWorker(activities);
  if (step.message === null) return works(`calls its model ${where}, ${since}${by}`);
  const running = step.calls.filter(({ resultSeq, callSeq }) => callSeq !== null && resultSeq === null);
  if (running.length === 0) return works(`is ${where}, ${since}${by}`);
  const calls = running.map(({ name, callId }) => {
    const receipt = facts.receipts.findLast((each) => each.callId === callId);
    return receipt === undefined ? name : `${name} (${placeOf(receipt, facts.now)})`;
  });
  return works(`runs ${[...new Set(calls)].join(', ')} ${where}, ${since}${by}`);
}

/** ` (429 RATE_LIMIT from demo), attempt 3`, as far as it is known. */
function whyAgain({ failure, lastAttempt }: OpenStep, { header }: SessionState): string {
  const status = failure?.status === undefined ? '' : `${String(failure.status)} `;
  const from = header === null ? '' : ` from ${header.provider}`;
  const why = failure === null ? '' : ` (${status}${failure.code}${from})`;
  return `${why}, attempt ${String(lastAttempt + 1)}`;
}

/** What is due and nobody took, or failed and is tried again. */
function waitsForWorker(
  { type, attempt, nextAttemptAt, lastFailure }: PendingActivity,
  now: number,
): string | undefined {
  const untakenMs = nextAttemptAt === undefined ? 0 : now - Date.parse(nextAttemptAt);
  if (untakenMs > UNTAKEN_AFTER_MS) {
    return `waits for a worker that takes ${type}, for ${inWords(untakenMs)}`;
  }
  const failed = attempt > 1 && lastFailure !== undefined;
  return failed
    ? `tries ${type} again at ${nextAttemptAt ?? 'once'} (${lastFailure}, attempt ${String(attempt)})`
    : undefined;
}

function placeOf({ hostId, pid, startedAt }: EventData<'tool/started'>, now: number): string {
  const process = pid === undefined ? '' : `process ${String(pid)} `;
  return `${process}on host ${hostId} since ${startedAt}, ${inWords(now - Date.parse(startedAt))}`;
}

function onWorker(activities: readonly PendingActivity[]): string {
  const worker = activities.find(
    ({ state, workerIdentity }) => state !== 'scheduled' && workerIdentity !== undefined,
  );
  return worker?.workerIdentity === undefined ? '' : `, on worker ${worker.workerIdentity}`;
}

function sinceGrowth({ updatedAt, now }: TurnToExplain): string {
  return `since ${updatedAt} (${inWords(now - Date.parse(updatedAt))})`;
}

const waits = (text: string): Explanation => ({ kind: 'waits', text });
const works = (text: string): Explanation => ({ kind: 'works', text });
const stuck = (text: string): Explanation => ({ kind: 'stuck', text });
