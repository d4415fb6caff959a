/**
 * The activity between the steps: it commits what the step left, decides what comes next, and writes it in one
 * transaction, so that a prompt can never fall between two turns.
 *
 * Owns how a turn is entered, how a step begins and how a turn ends. Idempotent by the log: told the same again, it
 * answers where the turn stands.
 */
import {
  ACTIVITY_FAILURE,
  type AdvanceInput,
  type AdvanceOutcome,
  type TurnStop,
} from '../contract/agent-turn.js';
import type { BlobBlock } from '../contract/content.js';
import { eventKeys } from '../contract/event-keys.js';
import type { EventData } from '../contract/events.js';
import type { TurnEndReason } from '../contract/turn-end.js';
import { claimInput, type InboxEntry } from '../core/inbox.js';
import type { CallState, OpenTurn } from '../core/session-state.js';
import {
  abandonedResult,
  abortReason,
  callEvent,
  commitResults,
  enterTurn,
  nextMove,
  startStep,
  stepEnd,
  turnEnd,
  type CallResult,
  type StepPlace,
} from '../core/turn-progress.js';
import { canonicalToolJson } from '../tools/registry.js';
import { textOfBlob } from '../store/large-content.js';
import type { LogTransaction, SessionStore } from '../store/session-store.js';
import type { ActivityDeps } from './activity-deps.js';
import { answerFromFrames, interruptedAttempt } from './interrupted-attempt.js';
import { prepareStep } from './prepare-step.js';
import { callLimits, spendingLimitReached } from './turn-settings.js';
import { attemptsEnded } from './attempts-ended.js';

export function createAdvance(deps: ActivityDeps) {
  return async function advance(input: AdvanceInput): Promise<AdvanceOutcome> {
    if (input.stop !== undefined) {
      // A cancel that came by the engine alone becomes a fact, which also tells what runs to stop.
      if (input.stop.kind === 'cancelled') await recordCancel(deps.store, input);
      // What runs has a moment to store what it has; after that it is fenced.
      await attemptsEnded(deps.store, input);
    }
    const { outcome, opened, settledStep } = await deps.store.transact(input.uid, async (transaction) => {
      const settled = transaction.state.openTurn?.step?.number;
      const result = await advanceIn(deps, transaction, input);
      const next = transaction.state.openTurn;
      return {
        outcome: result,
        opened: next !== null && next.number !== input.turn ? next.number : undefined,
        settledStep: settled,
      };
    });
    if (settledStep !== undefined && (outcome.kind === 'ended' || outcome.kind === 'step')) {
      const upTo = outcome.kind === 'step' ? outcome.step - 1 : settledStep;
      if (upTo > 0) background(deps, deps.store.dropFrames(input.uid, input.turn, upTo));
    }
    if (outcome.kind === 'ended' && opened !== undefined) {
      background(deps, deps.engine.startTurn(input.uid, opened));
    }
    return outcome;
  };
}

/** `turn/cancel-requested` of a cancel that someone told the engine and not the log. */
async function recordCancel(store: SessionStore, { uid, turn, run }: AdvanceInput): Promise<void> {
  await store.transact(uid, async (transaction) => {
    if (transaction.state.openTurn?.number !== turn) return;
    if (!(await transaction.claimTurn(turn, run))) return;
    const data = { by: 'engine', cause: 'operator' };
    await transaction.append([
      { type: 'turn/cancel-requested', key: eventKeys.cancelRequested(turn), turn, data },
    ]);
  });
}

/** Work that the turn does not wait for; what fails of it, the sweeper makes good. */
function background(deps: ActivityDeps, work: Promise<void>): void {
  work.catch((error: unknown) => {
    deps.logger.warn({ err: error }, 'work after a step failed; it is made good later');
  });
}

async function advanceIn(
  deps: ActivityDeps,
  transaction: LogTransaction,
  { turn: number, run, completedStep, stop }: AdvanceInput,
): Promise<AdvanceOutcome> {
  if (transaction.state.openTurn?.number !== number) return { kind: 'ended' };
  if (!(await transaction.claimTurn(number, run))) return { kind: 'superseded' };

  let first: readonly InboxEntry[] | undefined;
  if (!transaction.state.openTurn.started) {
    const entry = enterTurn(number, transaction.state.inbox);
    await transaction.append(entry.events);
    first = entry.entries;
  }
  const { cancel, step } = openTurn(transaction);
  const reason = stopReason(deps, transaction, cancel === null ? stop : { kind: 'cancelled' });
  if (reason !== undefined) return endTurn(deps, transaction, reason);
  if (first !== undefined) {
    return first.length === 0
      ? endTurn(deps, transaction, { kind: 'completed' })
      : beginStep(deps, transaction, 1, first);
  }
  if (step === null) return endTurn(deps, transaction, LOST_STEP);
  if (step.number > completedStep) return { kind: 'step', step: step.number };
  return afterStep(deps, transaction);
}

const LOST_STEP: TurnEndReason = {
  kind: 'interrupted',
  note: 'The log has neither an open step nor an end of the turn.',
};

function openTurn(transaction: LogTransaction): OpenTurn {
  const turn = transaction.state.openTurn;
  if (turn === null) throw new Error('The turn is not open.');
  return turn;
}

function openStep(transaction: LogTransaction): StepPlace {
  const turn = openTurn(transaction);
  if (turn.step === null) throw new Error('The turn has no open step.');
  return { turn, step: turn.step };
}

function stopReason(
  deps: ActivityDeps,
  transaction: LogTransaction,
  stop: TurnStop | undefined,
): TurnEndReason | undefined {
  const turn = openTurn(transaction);
  switch (stop?.kind) {
    case undefined:
      return undefined;
    case 'cancelled':
      return abortReason(turn.cancel);
    case 'time':
      return {
        kind: 'limit',
        which: 'time',
        value: Math.max(0, Date.parse(transaction.at) - Date.parse(turn.startedAt)),
      };
    case 'superseded':
      return failedReason(turn, 'AttemptSuperseded');
    case 'failed': {
      const spent = stop.code === ACTIVITY_FAILURE.spendingLimitReached;
      return (spent ? spendingLimitReached(transaction.state, deps) : null) ?? failedReason(turn, stop.code);
    }
  }
}

function failedReason(turn: OpenTurn, code: string): TurnEndReason {
  const failure = turn.step?.message === null ? turn.step.failure : null;
  if (failure === null) {
    return {
      kind: 'error',
      code,
      message: `The turn was ended by an error of Turnkeeper (${code}). The server's log has the details.`,
    };
  }
  const { status, providerRequestId } = failure;
  return {
    kind: 'error',
    code: failure.code,
    message: failure.message,
    ...(status === undefined ? {} : { status }),
    ...(providerRequestId === undefined ? {} : { providerRequestId }),
  };
}

/** The step's calls have settled: their results are committed, and the next step begins or the turn ends. */
async function afterStep(deps: ActivityDeps, transaction: LogTransaction): Promise<AdvanceOutcome> {
  await commitStaged(deps, transaction, (call) => abandonedResult(call, false));
  const place = openStep(transaction);
  const move = nextMove(transaction.state, place, callLimits(transaction.state, deps));
  if (move.kind === 'end') return endTurn(deps, transaction, move.reason);
  const { turn, step } = place;
  const claim = claimInput(transaction.state.inbox, turn.number, step.number + 1);
  await transaction.append([stepEnd(turn.number, step.number, 'step'), ...claim.events]);
  return beginStep(deps, transaction, step.number + 1, claim.entries);
}

async function beginStep(
  deps: ActivityDeps,
  transaction: LogTransaction,
  step: number,
  entries: readonly InboxEntry[],
): Promise<AdvanceOutcome> {
  const { state } = transaction;
  const prepared = prepareStep(deps, state, timeZoneOf(entries) ?? state.timeZone ?? undefined);
  if ('refusal' in prepared) return endTurn(deps, transaction, { kind: 'error', ...prepared.refusal });
  const turn = openTurn(transaction).number;
  const events = startStep(state, { turn, step, entries }, prepared.request, deps.ids);
  if (events.some((event) => event.type === 'request/header')) {
    for (const tool of prepared.tools) {
      const bytes = new TextEncoder().encode(canonicalToolJson(tool));
      await transaction.saveBlob(bytes, 'application/json');
    }
  }
  await transaction.append(events);
  // Asked after the input is a part of the conversation, so that the next prompt goes on from it.
  const reached = step === 1 ? spendingLimitReached(transaction.state, deps) : null;
  return reached === null ? { kind: 'step', step } : endTurn(deps, transaction, reached);
}

/** The time zone of the last of these prompts that names one. */
function timeZoneOf(entries: readonly InboxEntry[]): string | undefined {
  const zones = entries.flatMap(({ source }) => (source.kind === 'user' ? [source.timeZone] : []));
  return zones.findLast((zone) => zone !== undefined);
}

/** Settles whatever is open in the turn, ends it, and opens the next one where input waits. */
async function endTurn(
  deps: ActivityDeps,
  transaction: LogTransaction,
  reason: TurnEndReason,
): Promise<AdvanceOutcome> {
  if (openTurn(transaction).step !== null) {
    await settleModelCall(deps, transaction, reason);
    await commitStaged(deps, transaction, (call) =>
      abandonedResult(call, reason.kind === 'aborted' || reason.kind === 'limit'),
    );
    await withdrawQuestions(transaction);
    const { turn, step } = openStep(transaction);
    await transaction.append([stepEnd(turn.number, step.number, 'end')]);
  }
  const turn = openTurn(transaction);
  await transaction.append([turnEnd(turn, reason, await outputOf(transaction, turn))]);
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
  const kept = reason.kind === 'aborted' || reason.kind === 'limit' ? answer : { ...answer, content: [] };
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

/** Commits the staged results in the model's order; a call without one is settled by `missing`. */
async function commitStaged(
  deps: ActivityDeps,
  transaction: LogTransaction,
  missing: (call: CallState) => CallResult,
): Promise<void> {
  const place = openStep(transaction);
  if (place.step.calls.every((call) => call.resultSeq !== null)) return;
  const staged = await transaction.staged(place.turn.number, place.step.number);
  const byIndex = new Map(staged.map((result) => [result.index, result]));
  const results = new Map(
    place.step.calls.map((call) => [call.index, byIndex.get(call.index) ?? missing(call)]),
  );
  const unannounced = place.step.calls.filter((call) => call.callSeq === null);
  await transaction.append(unannounced.map((call) => callEvent(place, call, planOf(deps, call))));
  const announced = openStep(transaction);
  await transaction.append(
    commitResults(announced, (call) => results.get(call.index) ?? missing(call), deps.ids),
  );
}

function planOf(deps: ActivityDeps, call: CallState): Pick<EventData<'tool/call'>, 'effect' | 'mode'> {
  return { effect: deps.registry.get(call.name)?.effect ?? 'read', mode: 'parallel' };
}

async function withdrawQuestions(transaction: LogTransaction): Promise<void> {
  const { approvals, questions } = transaction.state;
  await transaction.append([
    ...approvals.map(({ approvalId }) => ({
      type: 'approval/decided' as const,
      key: eventKeys.approvalDecided(approvalId),
      data: { approvalId, outcome: 'withdrawn' as const, by: 'turnkeeper' },
    })),
    ...questions.map((questionId) => ({
      type: 'question/answered' as const,
      key: eventKeys.questionAnswered(questionId),
      data: { questionId, answers: null, outcome: 'withdrawn' as const, by: 'turnkeeper' },
    })),
  ]);
}

/** The turn's output, whole: parts that were moved to the blob store are read back; the append moves the sum again. */
async function outputOf(transaction: LogTransaction, turn: OpenTurn): Promise<string | BlobBlock | null> {
  const [first, ...rest] = turn.output;
  if (first === undefined) return null;
  if (rest.length === 0) return first;
  const texts = await Promise.all(
    turn.output.map(async (part) => {
      if (typeof part === 'string') return part;
      const blob = await transaction.readBlob(part.sha256);
      return blob === undefined ? part.head : textOfBlob(blob.bytes);
    }),
  );
  return texts.join('');
}
