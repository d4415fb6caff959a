/**
 * The ask phase of a step: after the model's message and before its first call, everything that a person has to decide
 * or answer is asked, in call order (DESIGN 10).
 *
 * Owns what is asked and what is recorded of the plan. The waiting is the workflow's, the answers are the API's.
 */
import type { PlannedCall, StepRef } from '../contract/agent-turn.js';
import { eventKeys } from '../contract/event-keys.js';
import type { EventData, NewEvent } from '../contract/events.js';
import type { FinishReason } from '../contract/chunks.js';
import type { ApprovalId, QuestionId } from '../contract/ids.js';
import { approvalDecided, isOpen, questionAnswered, TURNKEEPER } from '../core/asks.js';
import type { CallState, OpenStep, SessionState } from '../core/session-state.js';
import { digestOf } from '../store/digest.js';
import type { LogTransaction } from '../store/session-store.js';
import type { CallPlan } from '../tools/pipeline.js';
import type { ActivityDeps } from './activity-deps.js';
import { effectiveArguments, rawArguments } from './raw-arguments.js';
import { toolContext } from './tool-context.js';
import { offeredTools, settingsInForce, type TurnSettings } from './turn-settings.js';

/** How the calls of a settled message are to be run. */
export interface StepPlan {
  readonly finish: FinishReason;
  readonly calls: readonly PlannedCall[];
  /** Whether every call may run at once and on the way. */
  readonly allQuick: boolean;
}

/**
 * Plans the calls of the open step and asks what is to be asked. Not for the inside of a transaction: hooks are asked.
 *
 * @returns null where the turn was cancelled meanwhile, or is not at this step any more.
 */
export async function planStep(
  deps: ActivityDeps,
  ref: StepRef,
  scope: { readonly state: SessionState; readonly signal: AbortSignal },
): Promise<StepPlan | null> {
  const step = stepOf(scope.state, ref);
  if (step === null) return null;
  if (step.message === null) throw new Error('The step has no message.');
  const { finish } = step.message;
  if (step.calls.length === 0) return { finish, calls: [], allQuick: true };
  const settings = settingsInForce(scope.state, deps);
  const stepScope = { ...scope, step, settings };
  const planned = await planCalls(deps, ref, stepScope);
  const asks = isAsked(step) ? [] : await asksOf(deps, ref, { ...stepScope, planned });
  const preExecuted = planned.map(({ plan }) => plan.preExecuted ?? null);
  const isRecorded = preExecuted.some((word) => word !== null);
  const state =
    asks.length === 0 && !isRecorded
      ? scope.state
      : await deps.store.transact(
          ref.uid,
          async (transaction) => {
            if (stepOf(transaction.state, ref) === null) return transaction.state;
            if (isRecorded) await transaction.savePreExecuted(ref.turn, ref.step, preExecuted);
            await ask(transaction, asks);
            return transaction.state;
          },
          { durability: asks.length === 0 ? 'relaxed' : 'full' },
        );
  const calls = stepOf(state, ref)?.calls;
  if (calls === undefined) return null;
  const plans = planned.map(({ plan }) => plan);
  const allQuick =
    plans.every(({ quick, mode }) => quick && mode === 'parallel') &&
    plans.length <= settings.profile.maxParallelToolCalls &&
    calls.every((call) => call.ask === null);
  return {
    finish,
    calls: plans.map(({ mode }, index): PlannedCall => ({ mode, ...openAsk(calls[index]) })),
    allQuick,
  };
}

/** The open step, unless the log is past it or the turn is cancelled. */
function stepOf({ openTurn }: SessionState, { turn, step }: StepRef): OpenStep | null {
  const isHere = openTurn?.number === turn && openTurn.step?.number === step && openTurn.cancel === null;
  return isHere ? openTurn.step : null;
}

/** All is asked at once: a step that has asked, or started a call, asks no more. */
function isAsked({ calls }: OpenStep): boolean {
  return calls.some(({ ask: asked, callSeq }) => asked !== null || callSeq !== null);
}

/** Where a call waits for a person: whom it asked, and until when. */
function openAsk(call: CallState | undefined): Pick<PlannedCall, 'asked'> {
  const asked = call?.ask ?? null;
  if (asked === null || !isOpen(asked)) return {};
  const id = asked.kind === 'approval' ? asked.approvalId : asked.questionId;
  return {
    asked: { id, ...(asked.expiresAt === null ? {} : { expiresAt: Date.parse(asked.expiresAt) }) },
  };
}

/** A call with its plan and the raw arguments that would run: the model's, or what the hooks made of them. */
interface CallToAsk {
  readonly call: CallState;
  readonly plan: CallPlan;
  readonly raw: string;
}

async function planCalls(
  deps: ActivityDeps,
  ref: StepRef,
  { step, settings, state }: StepScope,
): Promise<CallToAsk[]> {
  const recorded = deps.pipeline.asksHooks
    ? await deps.store.transact(ref.uid, (transaction) => transaction.preExecuted(ref.turn, ref.step))
    : null;
  const planned: CallToAsk[] = [];
  for (const call of step.calls) {
    const raw = await rawArguments(call, (sha256) => deps.store.readBlob(ref.uid, sha256));
    const preExecuted = recorded?.[call.index] ?? undefined;
    const plan = await deps.pipeline.planCall({
      call: { callId: call.callId, name: call.name, arguments: raw },
      selection: offeredTools(state),
      policy: settings.policy,
      workspace: settings.workspace,
      ...(preExecuted === undefined ? {} : { preExecuted }),
    });
    planned.push({ call, plan, raw: effectiveArguments(raw, plan.preExecuted) });
  }
  return planned;
}

interface StepScope {
  readonly state: SessionState;
  readonly step: OpenStep;
  readonly settings: TurnSettings;
  readonly signal: AbortSignal;
}

type AskedEvent = Extract<NewEvent, { type: 'approval/asked' | 'question/asked' }>;

/** What is to be asked, in call order. */
async function asksOf(
  deps: ActivityDeps,
  ref: StepRef,
  scope: StepScope & { readonly planned: readonly CallToAsk[] },
): Promise<AskedEvent[]> {
  const { approvalExpiresMs } = scope.settings.profile;
  const expiry =
    approvalExpiresMs === null ? {} : { expiresAt: new Date(deps.clock() + approvalExpiresMs).toISOString() };
  const asks: AskedEvent[] = [];
  for (const asked of scope.planned) {
    const { decision, questions } = asked.plan;
    const at = { turn: ref.turn, step: ref.step };
    const { callId, index } = asked.call;
    if (decision.kind === 'ask') {
      const data = await approvalData(deps, ref, { ...scope, ...asked });
      const key = eventKeys.approvalAsked(ref.turn, ref.step, index);
      asks.push({ type: 'approval/asked', key, ...at, data: { ...data, ...expiry } });
    } else if (decision.kind === 'allow' && questions !== undefined) {
      const questionId = deps.ids.uuid() as QuestionId;
      const key = eventKeys.questionAsked(ref.turn, ref.step, index);
      const data = { questionId, callId, questions: [...questions], ...expiry };
      asks.push({ type: 'question/asked', key, ...at, data });
    }
  }
  return asks;
}

async function approvalData(
  deps: ActivityDeps,
  ref: StepRef,
  { call, plan, raw, state, signal, settings }: StepScope & CallToAsk,
): Promise<EventData<'approval/asked'>> {
  const { callId, index, name } = call;
  const context = toolContext(deps, { ref: { ...ref, index }, callId, state, settings, signal });
  const preview = await deps.pipeline.previewCall({ callId, name, arguments: raw }, context);
  return {
    approvalId: deps.ids.uuid() as ApprovalId,
    callId,
    tool: name,
    arguments: raw,
    argumentsSha256: digestOf(new TextEncoder().encode(raw)),
    reason: plan.decision.reason,
    ...(preview === undefined ? {} : { preview }),
  };
}

/** Appends what is asked; where nobody can answer, it is closed in the same append. */
async function ask(transaction: LogTransaction, asks: readonly AskedEvent[]): Promise<void> {
  const { state } = transaction;
  const closed = state.openTurn?.unattended === true ? asks.map((event) => unavailable(state, event)) : [];
  await transaction.append([...asks, ...closed]);
}

function unavailable(state: SessionState, event: AskedEvent): NewEvent {
  if (event.type === 'approval/asked') {
    const { approvalId } = event.data;
    return approvalDecided(state, { approvalId, outcome: 'unavailable', by: TURNKEEPER });
  }
  const { questionId } = event.data;
  return questionAnswered(state, { questionId, answers: null, by: TURNKEEPER, outcome: 'withdrawn' });
}
