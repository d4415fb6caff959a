/**
 * How a turn ends: whatever is open in it is settled in the same transaction, so that no call is left without a result
 * and no attempt can write any more.
 *
 * Owns the settlement. Why the turn ends is decided by the caller.
 */
import type { AdvanceOutcome } from '../contract/agent-turn.js';
import type { JsonValue } from '../contract/json.js';
import type { TurnEndReason } from '../contract/turn-end.js';
import { withdrawAsks } from '../core/asks.js';
import type { CallState, OpenTurn } from '../core/session-state.js';
import { settleCalls } from '../core/settle-step.js';
import { abandonedResult, stepEnd, turnEnd, type CallResult, type StepPlace } from '../core/turn-progress.js';
import type { LogTransaction } from '../store/session-store.js';
import { turnOutput } from '../store/turn-output.js';
import type { ActivityDeps } from './activity-deps.js';
import { answerFromFrames, interruptedAttempt } from './interrupted-attempt.js';
import { wantsTitle } from './write-title.js';

/** The open turn of a transaction that has one. */
export function openTurn(transaction: LogTransaction): OpenTurn {
  const turn = transaction.state.openTurn;
  if (turn === null) throw new Error('The turn is not open.');
  return turn;
}

/** The open step of a transaction that has one. */
export function openStep(transaction: LogTransaction): StepPlace {
  const turn = openTurn(transaction);
  if (turn.step === null) throw new Error('The turn has no open step.');
  return { turn, step: turn.step };
}

/** Settles whatever is open in the turn and ends it; where input waits, the same append opens the next one. */
export async function endTurn(
  deps: ActivityDeps,
  transaction: LogTransaction,
  reason: TurnEndReason,
  structured?: JsonValue,
): Promise<AdvanceOutcome> {
  if (openTurn(transaction).step !== null) {
    await settleModelCall(deps, transaction, reason);
    const { turn: open, step } = openStep(transaction);
    const running = await transaction.runningAttempts(open.number, step.number);
    await settleStep(deps, transaction, (call) => {
      const started = call.startedAttempts.length > 0 || running.some((ref) => ref.call === call.index);
      return abandonedResult(call, isAbort(reason), started);
    });
  }
  const turn = openTurn(transaction);
  if (wantsTitle(deps, transaction.state)) {
    await transaction.addFollowUp({ turn: turn.number, kind: 'title' });
  }
  await transaction.append([
    ...withdrawAsks(transaction.state),
    ...(turn.step === null ? [] : [stepEnd(turn.number, turn.step.number, 'end')]),
    turnEnd(turn, reason, await turnOutput(turn, (sha256) => transaction.readBlob(sha256)), structured),
  ]);
  return { kind: 'ended' };
}

/** An attempt at the model that still runs is cut off here: what it showed is kept or withdrawn. */
async function settleModelCall(
  deps: ActivityDeps,
  transaction: LogTransaction,
  reason: TurnEndReason,
): Promise<void> {
  const { turn, step } = openStep(transaction);
  if (step.message !== null) return;
  const running = await transaction.runningAttempts(turn.number, step.number);
  const attempt = running.find((ref) => ref.call === undefined);
  if (attempt === undefined) return;
  const answer = await answerFromFrames(transaction, attempt);
  const { header } = transaction.state;
  const kept = isAbort(reason) ? answer : { ...answer, content: [] };
  await transaction.append([
    interruptedAttempt(attempt, kept, {
      provider: header?.provider ?? '',
      model: header?.model ?? '',
      timing: { requestedAt: transaction.at, endedAt: transaction.at },
      ids: deps.ids,
    }),
  ]);
  await transaction.closeAttempt(attempt);
}

/** Whether what runs was told to stop; what it had shown is kept then. */
function isAbort(reason: TurnEndReason): boolean {
  return reason.kind === 'aborted' || reason.kind === 'limit';
}

/** Commits the staged results in the model's order; a call without one is settled by `missing`. */
export async function settleStep(
  deps: ActivityDeps,
  transaction: LogTransaction,
  missing: (call: CallState) => CallResult,
): Promise<void> {
  const place = openStep(transaction);
  if (place.step.calls.every((call) => call.resultSeq !== null)) return;
  const staged = await transaction.staged(place.turn.number, place.step.number);
  const byIndex = new Map(staged.map((result) => [result.index, result]));
  await transaction.append(
    settleCalls(transaction.state, place, {
      resultOf: (call) => byIndex.get(call.index) ?? missing(call),
      planOf: (call) => ({ effect: deps.registry.get(call.name)?.effect ?? 'read', mode: 'parallel' }),
      ids: deps.ids,
    }),
  );
}
