/**
 * The activity of one model call: it streams the answer into frames and settles it in the log.
 *
 * Owns an attempt from its allotment to its settlement, and with it the one retry policy of model calls: it appends
 * what failed and how long the engine is to wait, and throws the failure that says the same to the engine.
 */
import type { CallModelOutcome, StepRef } from '../contract/agent-turn.js';
import { eventKeys } from '../contract/event-keys.js';
import type { EventData } from '../contract/events.js';
import type { CallId, MessageId, SessionUid, Sha256 } from '../contract/ids.js';
import { ZERO_USAGE } from '../contract/usage.js';
import { conversationOf, type MessageFold } from '../core/messages.js';
import type { SessionState } from '../core/session-state.js';
import { BlockAssembler } from '../model/block-assembler.js';
import { ModelFailure } from '../model/model-failure.js';
import { retryDelay, type RetryDelay } from '../model/retry-delay.js';
import { isFenced, StoreError, type AttemptRef, type LogTransaction } from '../store/session-store.js';
import { canonicalToolJson } from '../tools/registry.js';
import type { ActivityDeps } from './activity-deps.js';
import { activityFailures, currentOwner, withAttemptScope, type AttemptScope } from './activity-scope.js';
import { planStep } from './ask-phase.js';
import { ConversationCache } from './conversation-cache.js';
import { FrameWriter } from './frame-writer.js';
import { answerFromFrames, interruptedAttempt, withdrawnAttempt } from './interrupted-attempt.js';
import { modelRequest } from './model-request.js';
import type { RunTool } from './run-tool.js';
import { askRequestError, type RequestErrorVerdict } from './run-turn-hooks.js';
import { wrapStream } from './stream-hooks.js';
import type { HookPlace } from './turn-hooks.js';
import { untilStored } from './until-stored.js';
import { hookSession, settingsInForce, spendingLimitReached } from './turn-settings.js';

/** How the call stands when the activity begins. */
type Beginning =
  | { readonly kind: 'aborted' }
  /** The log has the message already. */
  | { readonly kind: 'settled'; readonly state: SessionState }
  | { readonly kind: 'attempt'; readonly ref: AttemptRef; readonly state: SessionState };

/** A quick call that takes longer than this on the way is left to an activity of its own. */
const QUICK_CALL_MS = 1000;

export function createCallModel(deps: ActivityDeps, runTool: RunTool) {
  const conversations = new ConversationCache(deps.store);

  return async function callModel(step: StepRef): Promise<CallModelOutcome> {
    const beginning = await begin(deps, step);
    if (beginning.kind === 'aborted') return { kind: 'aborted' };
    return withAttemptScope(step, deps, async (scope) => {
      const state =
        beginning.kind === 'settled'
          ? beginning.state
          : await new ModelAttempt(deps, { uid: step.uid, ...beginning }, scope).run(conversations);
      return state === 'aborted' ? { kind: 'aborted' } : proceed(step, state, scope);
    });
  };

  /**
   * What the settled message means for the workflow. Calls that are all quick are run here and now, on the worker that
   * has the workspace: an activity of their own would cost more than they do.
   */
  async function proceed(step: StepRef, state: SessionState, scope: AttemptScope): Promise<CallModelOutcome> {
    const plan = await planStep(deps, step, { state, signal: scope.signal });
    if (plan === null || plan.finish === 'aborted') return { kind: 'aborted' };
    const { finish, calls, allQuick } = plan;
    const settled = { kind: 'settled', finish, hostId: deps.hostId } as const;
    if (!allQuick) return { ...settled, calls };
    const runs = await Promise.all(
      calls.map(({ mode }, index) => runTool({ ...step, index, mode }, QUICK_CALL_MS)),
    );
    return { ...settled, calls: runs.includes('too-slow') ? calls : [] };
  }
}

/** Allots the attempt, withdraws those that were lost before it, or finds that the log has the outcome already. */
async function begin(deps: ActivityDeps, step: StepRef): Promise<Beginning> {
  const owner = currentOwner(step);
  const beginOnce = async (transaction: LogTransaction): Promise<Beginning | undefined> => {
    const turn = transaction.state.openTurn;
    // The engine is behind the log: `advance` says where the turn stands.
    if (turn?.number !== step.turn || turn.step?.number !== step.step) return { kind: 'aborted' };
    if (turn.cancel !== null) return { kind: 'aborted' };
    if (turn.step.message !== null) return { kind: 'settled', state: transaction.state };
    const grant = await transaction.openAttempt({ turn: step.turn, step: step.step }, owner);
    if (grant.kind === 'superseded') return undefined;
    if (grant.kind === 'stale') throw activityFailures.stale();
    for (const attempt of grant.lost) {
      const ref = { turn: step.turn, step: step.step, attempt };
      const { shownCharacters, usage } = await answerFromFrames(transaction, ref);
      const lost = { outcome: 'lost', shownCharacters, ...usageOf(usage) } as const;
      await transaction.append([withdrawnAttempt(ref, lost)]);
    }
    const ref = { turn: step.turn, step: step.step, attempt: grant.attempt };
    return { kind: 'attempt', ref, state: transaction.state };
  };
  // Not synced: a power cut that loses the attempt's row loses its worker too, and nothing that anybody was promised.
  const beginning = await deps.store.transact(step.uid, beginOnce, { durability: 'relaxed' });
  if (beginning === undefined) throw activityFailures.superseded();
  return beginning;
}

class ModelAttempt {
  readonly #assembler: BlockAssembler;
  readonly #timing: { requestedAt: string; firstByteAt?: string };

  constructor(
    private readonly deps: ActivityDeps,
    private readonly attempt: {
      readonly uid: SessionUid;
      readonly ref: AttemptRef;
      readonly state: SessionState;
    },
    private readonly scope: AttemptScope,
  ) {
    this.#timing = { requestedAt: this.#now() };
    this.#assembler = new BlockAssembler({
      usedCallIds: (id) => this.#usedCallIds.has(id),
      makeCallId: () => `call_${deps.ids.uuid().replaceAll('-', '')}` as CallId,
    });
  }

  #usedCallIds: ReadonlySet<string> = new Set();

  /** The state with the message in it, or `aborted` where a cancel came first. */
  async run(conversations: ConversationCache): Promise<SessionState | 'aborted'> {
    const { deps, scope, attempt } = this;
    const frames = new FrameWriter(deps.store, attempt.uid, attempt.ref, (error) => {
      if (isFenced(error)) scope.stop('given-up');
      // Nobody sees the rest as it comes. The answer is what was paid for, and it is what the log waits for.
      else
        deps.logger.warn({ err: error, ...attempt.ref }, 'the rest of an answer is not shown before its end');
    });
    try {
      const fold = await conversations.read(attempt.uid);
      this.#usedCallIds = callIdsOf(fold);
      const header = this.#header();
      const model = deps.models.resolve(header.provider, header.model);
      if (model === undefined) {
        throw new ModelFailure('INVALID_REQUEST', `The configuration has no model ${header.model} any more.`);
      }
      const request = await modelRequest(header, conversationOf(fold), (sha256) =>
        this.#readDefinition(sha256),
      );
      this.#timing.requestedAt = this.#now();
      const stream = wrapStream(
        deps.turnHooks.stream,
        { ...this.#place(), attempt: attempt.ref.attempt, request, signal: scope.signal },
        () =>
          model.adapter.stream(request, {
            signal: scope.signal,
            readBlob: (sha256) => this.#readBlob(sha256),
          }),
      );
      for await (const chunk of stream) {
        this.#timing.firstByteAt ??= this.#now();
        for (const shown of this.#assembler.add(chunk)) frames.push(shown);
      }
      await frames.flush().catch(unlessAway);
      return await untilStored({ scope, logger: deps.logger }, () => this.#settle());
    } catch (error) {
      if (scope.stopped !== undefined) return await this.#stopped(frames);
      if (error instanceof ModelFailure) return await this.#failed(error);
      throw error;
    }
  }

  async #settle(): Promise<SessionState> {
    const { deps, attempt } = this;
    const finish = this.#assembler.finish ?? 'stop';
    const { provider, model } = this.#header();
    return deps.store.transact(attempt.uid, async (transaction) => {
      await transaction.closeAttempt(attempt.ref);
      const { turn, step } = attempt.ref;
      await transaction.append([
        {
          type: 'assistant/message',
          key: eventKeys.assistantMessage(turn, step),
          turn,
          step,
          surface: 'append',
          data: {
            messageId: deps.ids.uuid() as MessageId,
            attempt: attempt.ref.attempt,
            content: this.#assembler.completeContent(finish),
            finish,
            usage: this.#assembler.usage ?? ZERO_USAGE,
            provider,
            model,
            timing: { ...this.#timing, endedAt: transaction.at },
          },
        },
      ]);
      return transaction.state;
    });
  }

  /** A failed attempt is withdrawn; whether and when it is tried again is decided and stored here. */
  async #failed(failure: ModelFailure): Promise<never> {
    const { deps, attempt } = this;
    const { turn, step, attempt: number } = attempt.ref;
    const header = this.#header();
    const allowed = deps.models.providers[header.provider]?.attempts ?? 1;
    const verdict = await this.#askHooks(failure, allowed);
    const retry = await deps.store.transact(attempt.uid, async (transaction) => {
      await transaction.closeAttempt(attempt.ref);
      await transaction.append([
        withdrawnAttempt(attempt.ref, {
          outcome: 'failed',
          failure: {
            code: failure.code,
            message: failure.message,
            ...(failure.status === undefined ? {} : { status: failure.status }),
            ...(failure.providerRequestId === undefined
              ? {}
              : { providerRequestId: failure.providerRequestId }),
          },
          shownCharacters: this.#assembler.visibleCharacters,
          ...usageOf(failure.usage ?? this.#assembler.usage),
        }),
      ]);
      const failed = transaction.state.openTurn?.step?.failedAttempts ?? 0;
      const retryable = verdict === undefined ? failure.retryable : verdict.kind === 'retry';
      if (!retryable || failed >= allowed) return 'failed';
      if (spendingLimitReached(transaction.state, deps) !== null) return 'limit';
      const delay = this.#delay(failure, failed, verdict);
      await transaction.append([
        {
          type: 'llm/retry',
          key: eventKeys.llmRetry(turn, step, number),
          turn,
          step,
          data: {
            attempt: number,
            delayMs: delay.delayMs,
            retryAt: new Date(Date.parse(transaction.at) + delay.delayMs).toISOString(),
            code: failure.code,
            from: delay.from,
            ...(verdict === undefined ? {} : { hook: verdict.hook }),
          },
        },
      ]);
      return delay;
    });
    if (retry === 'failed') throw activityFailures.modelCallFailed(failure.code);
    if (retry === 'limit') throw activityFailures.spendingLimitReached(failure.code);
    throw activityFailures.modelAttemptFailed(failure.code, retry.delayMs);
  }

  /** What the hooks want of the failed attempt; undefined where they leave it to the failure. */
  #askHooks(failure: ModelFailure, allowed: number): Promise<RequestErrorVerdict | undefined> {
    const { turnHooks, logger } = this.deps;
    if (turnHooks.requestError.length === 0) return Promise.resolve(undefined);
    const failed = (this.attempt.state.openTurn?.step?.failedAttempts ?? 0) + 1;
    const { code, status, message, retryable } = failure;
    return askRequestError(
      turnHooks.requestError,
      {
        ...this.#place(),
        code,
        ...(status === undefined ? {} : { status }),
        message,
        attempt: this.attempt.ref.attempt,
        retryable: retryable && failed < allowed,
        delayMs: this.#delay(failure, failed, undefined).delayMs,
      },
      logger,
    );
  }

  #delay(failure: ModelFailure, attempt: number, verdict: RequestErrorVerdict | undefined): RetryDelay {
    const { retryAfterMs } = failure;
    const delay = retryDelay({ attempt, retryAfterMs, random: this.deps.random() });
    const wanted = verdict?.kind === 'retry' ? verdict.delayMs : undefined;
    return wanted === undefined ? delay : { ...delay, delayMs: wanted };
  }

  #place(): HookPlace {
    const { state, uid, ref } = this.attempt;
    const settings = { ...settingsInForce(state, this.deps), ...pickModel(this.#header()) };
    return { session: hookSession(state, uid, settings), turn: ref.turn, step: ref.step };
  }

  /** Stopped from the outside: only a cancel is stored, and only once. */
  async #stopped(frames: FrameWriter): Promise<'aborted'> {
    const { deps, scope, attempt } = this;
    // A frame that was refused changes nothing about what is stored now.
    await frames.flush().catch(() => undefined);
    if (scope.stopped === 'given-up') throw activityFailures.givenUp();
    const answer = {
      content: this.#assembler.interruptedContent(),
      shownCharacters: this.#assembler.visibleCharacters,
      usage: this.#assembler.usage,
    };
    const cancelled = scope.stopped === 'cancelled';
    const { provider, model } = this.#header();
    const settled = await deps.store
      .transact(attempt.uid, async (transaction) => {
        await transaction.closeAttempt(attempt.ref);
        const event = cancelled
          ? interruptedAttempt(attempt.ref, answer, {
              provider,
              model,
              timing: { ...this.#timing, endedAt: transaction.at },
              ids: deps.ids,
            })
          : withdrawnAttempt(attempt.ref, {
              outcome: 'lost',
              shownCharacters: answer.shownCharacters,
              ...usageOf(answer.usage),
            });
        await transaction.append([event]);
        return true;
      })
      .catch((error: unknown) => {
        if (cancelled && isFenced(error)) return false;
        throw error;
      });
    if (!cancelled) throw activityFailures.shutdown();
    // Fenced: the turn was settled without this attempt.
    if (!settled) deps.logger.info({ ...attempt.ref }, 'a cancelled attempt had been settled already');
    return 'aborted';
  }

  #header(): EventData<'request/header'> {
    const { header } = this.attempt.state;
    if (header === null) throw new Error('The log has no request/header.');
    return header;
  }

  /** One that was lost is what it was, as long as its tool has not changed. */
  async #readDefinition(sha256: Sha256): Promise<Uint8Array> {
    const same = this.deps.registry.offered('*').find((tool) => tool.sha256 === sha256);
    return same === undefined ? this.#readBlob(sha256) : new TextEncoder().encode(canonicalToolJson(same));
  }

  async #readBlob(sha256: Sha256): Promise<Uint8Array> {
    const blob = await this.deps.store.readBlob(this.attempt.uid, sha256);
    if (blob === undefined) throw new StoreError('LOG_CORRUPT', `The blob ${sha256} is missing.`);
    return blob.bytes;
  }

  #now(): string {
    return new Date(this.deps.clock()).toISOString();
  }
}

function unlessAway(error: unknown): void {
  if (!(error instanceof StoreError) || error.code !== 'STORE_UNAVAILABLE') throw error;
}

function pickModel({ provider, model }: EventData<'request/header'>) {
  return { provider, model };
}

function usageOf(
  usage: EventData<'assistant/attempt'>['usage'],
): Pick<EventData<'assistant/attempt'>, 'usage'> {
  return usage === undefined ? {} : { usage };
}

function callIdsOf(fold: MessageFold): ReadonlySet<string> {
  const ids = new Set<string>();
  for (const entry of fold.entries) {
    if (entry.role !== 'assistant') continue;
    for (const block of entry.content) {
      if (block.type === 'tool-call') ids.add(block.callId);
    }
  }
  return ids;
}
