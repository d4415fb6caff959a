/**
 * The hooks between two steps, as `advance` needs their answers: what each is shown, and by what an answer is known again
 * when the transaction runs anew.
 */
import type { TurnEndReason } from '../contract/turn-end.js';
import { sha256Schema, type SessionUid } from '../contract/ids.js';
import type { InboxEntry } from '../core/inbox.js';
import type { SessionState } from '../core/session-state.js';
import type { AddedMessage, StepPlace } from '../core/turn-progress.js';
import { wholeOutput } from '../store/turn-output.js';
import type { ActivityDeps } from './activity-deps.js';
import type { HookAnswers } from './hook-answers.js';
import type { PreparedStep } from './prepare-step.js';
import { askTurnStopping, runPreStep, runRequestHooks } from './run-turn-hooks.js';
import type { Blocked, HookMessage, HookPlace, RequestChoice } from './turn-hooks.js';
import { hookSession, settingsInForce } from './turn-settings.js';

interface NextStep {
  readonly turn: number;
  readonly step: number;
}

type BlockedReason = Extract<TurnEndReason, { kind: 'blocked' }>;

export class StepHooks {
  constructor(
    private readonly deps: ActivityDeps,
    private readonly uid: SessionUid,
    private readonly answers: HookAnswers,
  ) {}

  /** What the step's input becomes. */
  preStep(
    state: SessionState,
    { entries, ...place }: NextStep & { readonly entries: readonly InboxEntry[] },
  ):
    | {
        readonly kind: 'enter';
        readonly entries: readonly InboxEntry[];
        readonly added: readonly AddedMessage[];
      }
    | BlockedReason {
    const hooks = this.deps.turnHooks.preStep;
    if (hooks.length === 0) return { kind: 'enter', entries, added: [] };
    const claimed = entries.map(({ itemId, changes }) => `${itemId}/${String(changes)}`);
    const question = ['agent/pre-step', place.turn, place.step, ...claimed].join(' ');
    const outcome = this.answers.of(question, () =>
      runPreStep(hooks, {
        ...this.#place(state, place),
        entries,
        readBlob: async (name) => {
          const sha256 = sha256Schema.safeParse(name);
          return sha256.success ? (await this.deps.store.readBlob(this.uid, sha256.data))?.bytes : undefined;
        },
      }),
    );
    return outcome.kind === 'blocked'
      ? blockedReason(outcome)
      : { ...outcome, added: outcome.added.map(addedMessage) };
  }

  /** What is asked for in the place of the profile's request; null where nothing is changed. */
  request(
    state: SessionState,
    { prepared, ...place }: NextStep & { readonly prepared: PreparedStep },
  ): { readonly kind: 'request'; readonly request: RequestChoice | null } | BlockedReason {
    const hooks = this.deps.turnHooks.request;
    if (hooks.length === 0) return { kind: 'request', request: null };
    const { provider, model, parameters, tools } = prepared.request.header;
    const request: RequestChoice = { provider, model, parameters, tools: tools.map(({ name }) => name) };
    const question = ['agent/request', place.turn, place.step, JSON.stringify(request)].join(' ');
    const outcome = this.answers.of(question, () =>
      runRequestHooks(hooks, { ...this.#place(state, place), request }),
    );
    return outcome.kind === 'blocked' ? blockedReason(outcome) : outcome;
  }

  /** What lets a turn go on that would be completed. */
  turnStopping(state: SessionState, { turn, step }: StepPlace): readonly AddedMessage[] {
    const hooks = this.deps.turnHooks.turnStopping;
    if (hooks.length === 0) return [];
    const place = { turn: turn.number, step: step.number };
    const question = ['agent/turn-stopping', place.turn, place.step].join(' ');
    const added = this.answers.of(question, async () => {
      const output = await wholeOutput(turn, (sha256) => this.deps.store.readBlob(this.uid, sha256));
      return askTurnStopping(hooks, { ...this.#place(state, place), output }, this.deps.logger);
    });
    return added.map(addedMessage);
  }

  #place(state: SessionState, place: NextStep): HookPlace {
    return { ...place, session: hookSession(state, this.uid, settingsInForce(state, this.deps)) };
  }
}

function addedMessage({ hook, content }: HookMessage): AddedMessage {
  return { content, source: { kind: 'hook', name: hook } };
}

function blockedReason({ hook, note }: Blocked): BlockedReason {
  return { kind: 'blocked', hook, note };
}
