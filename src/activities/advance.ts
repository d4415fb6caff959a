/**
 * The activity between the steps: it commits what the step left, decides what comes next, and writes it in one
 * transaction, so that a prompt can never fall between two turns.
 *
 * Owns how a turn is entered and how a step begins; how it ends is in `end-turn.ts`. Idempotent by the log: told the same
 * again, it answers where the turn stands.
 */
import {
  ACTIVITY_FAILURE,
  type AdvanceInput,
  type AdvanceOutcome,
  type TurnStop,
} from '../contract/agent-turn.js';
import type { NewEvent } from '../contract/events.js';
import type { TurnEndReason } from '../contract/turn-end.js';
import { claimInput, type InboxEntry } from '../core/inbox.js';
import { FRUITLESS, isFruitless, takeover } from '../core/lost-workflow.js';
import type { OpenTurn } from '../core/session-state.js';
import { interruptionNotice } from '../core/standstill.js';
import {
  abandonedResult,
  abortReason,
  cancelTurn,
  enterTurn,
  nextMove,
  startStep,
  stepEnd,
  type AddedMessage,
} from '../core/turn-progress.js';
import { canonicalToolJson } from '../tools/registry.js';
import { StoreError, type LogTransaction, type SessionStore } from '../store/session-store.js';
import { wholeOutput } from '../store/turn-output.js';
import type { ActivityDeps } from './activity-deps.js';
import { attemptsEnded } from './attempts-ended.js';
import { closeTurn } from './close-turn.js';
import { endTurn, openStep, openTurn, settleStep } from './end-turn.js';
import { withHookAnswers } from './hook-answers.js';
import { prepareStep } from './prepare-step.js';
import { workedMs } from './read-time-left.js';
import { StepHooks } from './step-hooks.js';
import { judgeOutput, schemaMessage } from './structured-output.js';
import { callLimits, spendingLimitReached } from './turn-settings.js';

export function createAdvance(deps: ActivityDeps) {
  return async function advance(input: AdvanceInput): Promise<AdvanceOutcome> {
    if (input.stop !== undefined) {
      // A cancel that came by the engine alone becomes a fact, which also tells what runs to stop.
      if (input.stop.kind === 'cancelled') await recordCancel(deps.store, input);
      // What runs has a moment to store what it has; after that it is fenced.
      await attemptsEnded(deps.store, input);
    }
    const move = (advanceBy: (transaction: LogTransaction) => Promise<AdvanceOutcome>) =>
      deps.store.transact(input.uid, async (transaction) => {
        const settledStep = transaction.state.openTurn?.step?.number;
        const outcome = await advanceBy(transaction);
        const next = transaction.state.openTurn;
        const opened = next !== null && next.number !== input.turn ? next.number : undefined;
        return { outcome, opened, settledStep };
      });
    const { outcome, opened, settledStep } = await withHookAnswers((answers) =>
      move((transaction) =>
        advanceIn(deps, transaction, { ...input, hooks: new StepHooks(deps, input.uid, answers) }),
      ),
    ).catch((error: unknown) => {
      if (input.stop === undefined || error instanceof StoreError) throw error;
      // The turn is to end, and its end cannot be told as it should be: it is closed all the same.
      deps.logger.error({ err: error, uid: input.uid, turn: input.turn }, 'a turn is closed by a repair');
      return move((transaction) => closeTurn(deps, transaction, input));
    });
    if (outcome.kind === 'superseded') {
      const { uid, turn, run } = input;
      deps.logger.warn({ uid, turn, run }, 'a run whose turn another one has wrote nothing more');
    }
    if (settledStep !== undefined && (outcome.kind === 'ended' || outcome.kind === 'step')) {
      const upTo = outcome.kind === 'step' ? outcome.step - 1 : settledStep;
      if (upTo > 0) background(deps, deps.store.dropFrames(input.uid, input.turn, upTo));
    }
    if (outcome.kind === 'ended' && opened !== undefined) {
      background(deps, deps.engine.startTurn(input.uid, opened));
    }
    if (outcome.kind === 'ended') background(deps, startFollowUps(deps, input));
    return outcome;
  };
}

/** `turn/cancel-requested` of a cancel that someone told the engine and not the log. */
async function recordCancel(store: SessionStore, { uid, turn, run }: AdvanceInput): Promise<void> {
  await store.transact(uid, async (transaction) => {
    const { openTurn: open, inbox } = transaction.state;
    if (open?.number !== turn) return;
    if ((await transaction.claimTurn(turn, run)).kind === 'refused') return;
    await transaction.append(cancelTurn(open, inbox, { by: 'engine', cause: 'operator' }));
  });
}

/** Work that the turn does not wait for; what fails of it, the sweeper makes good. */
function background(deps: ActivityDeps, work: Promise<void>): void {
  work.catch((error: unknown) => {
    deps.logger.warn({ err: error }, 'work after a step failed; it is made good later');
  });
}

/** Starts what follows the turn that has ended. */
async function startFollowUps({ store, engine }: ActivityDeps, { uid, turn }: AdvanceInput): Promise<void> {
  for (const ref of await store.followUps.due({ uid, turn })) await engine.startFollowUp(ref);
}

async function advanceIn(
  deps: ActivityDeps,
  transaction: LogTransaction,
  { turn: number, run, completedStep, stop, hooks }: AdvanceInput & { readonly hooks: StepHooks },
): Promise<AdvanceOutcome> {
  if (transaction.state.openTurn?.number !== number) return { kind: 'ended' };
  const claim = await transaction.claimTurn(number, run);
  if (claim.kind === 'refused') return { kind: 'superseded' };
  if (claim.kind === 'taken-over') await transaction.append([takeover(number, claim.formerRuns)]);

  let first: readonly InboxEntry[] | undefined;
  if (!transaction.state.openTurn.started) {
    const entry = enterTurn(number, transaction.state.inbox);
    await transaction.append(entry.events);
    first = entry.entries;
  }
  const { cancel, step } = openTurn(transaction);
  const reason = stopReason(deps, transaction, cancel === null ? stop : { kind: 'cancelled' });
  if (reason !== undefined) return endTurn(deps, transaction, reason);
  if (isFruitless(transaction.state)) return endTurn(deps, transaction, FRUITLESS);
  if (first !== undefined) {
    return first.length === 0
      ? endTurn(deps, transaction, { kind: 'completed' })
      : beginStep(deps, transaction, { step: 1, entries: first, claim: [], added: [], hooks });
  }
  if (step === null) return endTurn(deps, transaction, LOST_STEP);
  if (step.number > completedStep) return { kind: 'step', step: step.number };
  return afterStep(deps, transaction, hooks);
}

const LOST_STEP: TurnEndReason = {
  kind: 'interrupted',
  note: 'The log has neither an open step nor an end of the turn.',
};

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
        value: workedMs(turn, Date.parse(transaction.at)),
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
async function afterStep(
  deps: ActivityDeps,
  transaction: LogTransaction,
  hooks: StepHooks,
): Promise<AdvanceOutcome> {
  await settleStep(deps, transaction, (call) => abandonedResult(call, false));
  const place = openStep(transaction);
  let added: readonly AddedMessage[] = [];
  const limits = callLimits(transaction.state, deps);
  let move = nextMove(transaction.state, place, limits, () => {
    added = hooks.turnStopping(transaction.state, place);
    return added.length > 0;
  });
  const { turn, step } = place;
  if (move.kind === 'end' && move.reason.kind === 'completed' && turn.outputSchema !== null) {
    const output = await wholeOutput(turn, (sha256) => transaction.readBlob(sha256));
    const verdict = judgeOutput(turn.outputSchema, output);
    if (verdict.kind === 'fits') return endTurn(deps, transaction, move.reason, verdict.structured);
    if (verdict.kind === 'refused') return endTurn(deps, transaction, verdict.reason);
    added = [verdict.message];
    move = nextMove(transaction.state, place, limits, () => true);
  }
  if (move.kind === 'end') return endTurn(deps, transaction, move.reason);
  const { entries, events } = claimInput(transaction.state.inbox, turn.number, step.number + 1);
  return beginStep(deps, transaction, { step: step.number + 1, entries, claim: events, added, hooks });
}

interface NewStep {
  readonly step: number;
  readonly entries: readonly InboxEntry[];
  /** The claim of the entries, where it is not appended yet. */
  readonly claim: readonly NewEvent[];
  /** What hooks add to the entries. */
  readonly added: readonly AddedMessage[];
  readonly hooks: StepHooks;
}

async function beginStep(
  deps: ActivityDeps,
  transaction: LogTransaction,
  { step, entries: claimed, claim, added, hooks }: NewStep,
): Promise<AdvanceOutcome> {
  const { number: turn, step: last } = openTurn(transaction);
  const input = hooks.preStep(transaction.state, { turn, step, entries: claimed });
  if (input.kind === 'blocked') {
    await transaction.append(claim);
    return endTurn(deps, transaction, input);
  }
  const before = [...(last === null ? [] : [stepEnd(turn, last.number, 'step')]), ...claim];
  // A claim may bring a choice of the model, which the request is made by; mostly there is none, and one append less.
  if (claim.length > 0) await transaction.append(before);
  const { state } = transaction;
  const { entries } = input;
  const timeZone = timeZoneOf(entries) ?? state.timeZone ?? undefined;
  let prepared = prepareStep(deps, state, { timeZone });
  if (!('refusal' in prepared)) {
    const choice = hooks.request(state, { turn, step, prepared });
    if (choice.kind === 'blocked') return endTurn(deps, transaction, choice);
    if (choice.request !== null) prepared = prepareStep(deps, state, { timeZone, choice: choice.request });
  }
  if ('refusal' in prepared) return endTurn(deps, transaction, { kind: 'error', ...prepared.refusal });
  const schema = claimed.findLast(({ outputSchema }) => outputSchema !== undefined)?.outputSchema;
  const rules = schema === undefined ? [] : [schemaMessage(schema)];
  const notice = interruptionNotice(openTurn(transaction).interruption);
  const place = { turn, step, entries, added: [...notice, ...added, ...input.added, ...rules] };
  const events = startStep(state, place, prepared.request, deps.ids);
  if (events.some((event) => event.type === 'request/header')) {
    for (const tool of prepared.tools) {
      const bytes = new TextEncoder().encode(canonicalToolJson(tool));
      await transaction.saveBlob(bytes, 'application/json');
    }
  }
  await transaction.append(claim.length > 0 ? events : [...before, ...events]);
  // Asked after the input is a part of the conversation, so that the next prompt goes on from it.
  const reached = step === 1 ? spendingLimitReached(transaction.state, deps) : null;
  return reached === null ? { kind: 'step', step } : endTurn(deps, transaction, reached);
}

/** The time zone of the last of these prompts that names one. */
function timeZoneOf(entries: readonly InboxEntry[]): string | undefined {
  const zones = entries.flatMap(({ source }) => (source.kind === 'user' ? [source.timeZone] : []));
  return zones.findLast((zone) => zone !== undefined);
}
