/** What the parts of the store's contract suite share: a store for each test, and a session that is driven through it. */
import { afterEach, beforeEach, expect } from 'vitest';
import { v7 as uuidv7 } from 'uuid';
import type { TurnRun } from '../../../src/contract/agent-turn.js';
import type { ToolCallBlock } from '../../../src/contract/content.js';
import { eventKeys } from '../../../src/contract/event-keys.js';
import type { EventData, NewEvent, PromptMode, SessionEvent } from '../../../src/contract/events.js';
import type {
  CallId,
  ItemId,
  MessageId,
  RequestId,
  SessionId,
  SessionUid,
} from '../../../src/contract/ids.js';
import type { TurnEndReason } from '../../../src/contract/turn-end.js';
import { ZERO_USAGE } from '../../../src/contract/usage.js';
import { claimInput } from '../../../src/core/inbox.js';
import { enterTurn, startStep, stepEnd, turnEnd } from '../../../src/core/turn-progress.js';
import { admitPrompt, type Admission, type PromptToAdmit } from '../../../src/store/admission.js';
import type {
  AttemptGrant,
  AttemptOwner,
  AttemptRef,
  LogTransaction,
  SessionStore,
  StoreErrorCode,
} from '../../../src/store/session-store.js';
import { someRequest } from '../../support/log-builder.js';

/** An empty store. `close` ends whatever is open of it, and removes what it kept. */
export interface StoreUnderTest {
  readonly store: SessionStore;
  /** Closes the store and opens it again on what it kept. */
  reopen(): Promise<SessionStore>;
  /** A second store on the same data, as another process has it; `close` closes it too. */
  beside(): Promise<SessionStore>;
  close(): Promise<void>;
}

export type OpenStore = () => Promise<StoreUnderTest>;

/** A new store for each test of the surrounding `describe`. */
export function useStore(open: OpenStore) {
  let current: StoreUnderTest | undefined;
  let store: SessionStore | undefined;
  beforeEach(async () => {
    current = await open();
    store = current.store;
  });
  afterEach(async () => {
    await current?.close();
  });
  const fixture = {
    get store(): SessionStore {
      return store!;
    },
    async reopen(): Promise<SessionStore> {
      store = await current!.reopen();
      return store;
    },
    beside: () => current!.beside(),
    session: (tenant?: string) => TestSession.create(() => store!, tenant),
  };
  return fixture;
}

export const newItemId = () => uuidv7() as ItemId;

export function title(text: string, key?: string): NewEvent {
  return {
    type: 'session/title',
    data: { title: text, source: 'user' },
    ...(key === undefined ? {} : { key }),
  };
}

/** The facts of a stored event, as they were given to the append. */
export function factOf(event: SessionEvent): Omit<NewEvent, 'key'> {
  const fact: Partial<SessionEvent> = { ...event };
  for (const ofTheStore of ['sessionId', 'seq', 'at'] as const) Reflect.deleteProperty(fact, ofTheStore);
  return fact as Omit<NewEvent, 'key'>;
}

export async function expectCode(work: Promise<unknown>, code: StoreErrorCode): Promise<void> {
  await expect(work).rejects.toMatchObject({ name: 'StoreError', code });
}

/** The nth workflow run. */
export const run = (n: number): TurnRun => ({ runId: `run-${n.toString()}` });

export function owner(changes: Partial<AttemptOwner> = {}): AttemptOwner {
  return { run: run(1), activityId: 'activity-1', engineAttempt: 1, ...changes };
}

/** One session of a store, brought to where a test begins. */
export class TestSession {
  private constructor(
    readonly uid: SessionUid,
    private readonly current: () => SessionStore,
  ) {}

  static async create(current: () => SessionStore, tenant = 'tenant'): Promise<TestSession> {
    const uid = uuidv7() as SessionUid;
    await current().createSession({
      tenant,
      id: uid as unknown as SessionId,
      uid,
      settings: { workspace: '/workspace', profile: 'default' },
      bodySha256: 'body',
    });
    return new TestSession(uid, current);
  }

  /** One that is there already. */
  static of(current: () => SessionStore, uid: SessionUid): TestSession {
    return new TestSession(uid, current);
  }

  get store(): SessionStore {
    return this.current();
  }

  transact<T>(work: (transaction: LogTransaction) => Promise<T>): Promise<T> {
    return this.store.transact(this.uid, work);
  }

  append(...events: NewEvent[]): Promise<readonly SessionEvent[]> {
    return this.transact((transaction) => transaction.append(events));
  }

  events(): Promise<readonly SessionEvent[]> {
    return this.store.readEvents(this.uid, { limit: 100_000 });
  }

  state() {
    return this.store.readState(this.uid);
  }

  async record() {
    const record = await this.store.findSessionByUid(this.uid);
    if (record === undefined) throw new Error('The session is gone.');
    return record;
  }

  admit(mode: PromptMode, changes: Partial<PromptToAdmit> = {}): Promise<Admission> {
    const requestId = changes.requestId ?? (uuidv7() as RequestId);
    return admitPrompt(this.store, this.uid, {
      requestId,
      itemId: newItemId(),
      mode,
      content: [{ type: 'text', text: `Prompt ${requestId}.` }],
      bodySha256: `body of ${requestId}`,
      ...changes,
    });
  }

  /** Admits a prompt that must be accepted. */
  async prompt(mode: PromptMode = 'queue', changes: Partial<PromptToAdmit> = {}) {
    const admission = await this.admit(mode, changes);
    if (admission.kind !== 'accepted') throw new Error(admission.kind);
    return admission;
  }

  /** Enters the turn that is due, with its first step. */
  async enter(): Promise<void> {
    await this.transact(async (transaction) => {
      const turn = transaction.state.openTurn?.number ?? 0;
      const { events, entries } = enterTurn(turn, transaction.state.inbox);
      await transaction.append(events);
      const place = { turn, step: 1, entries };
      await transaction.append(startStep(transaction.state, place, someRequest(), { uuid: uuidv7 }));
    });
  }

  /** Ends the step and begins the next one. */
  async nextStep(): Promise<void> {
    await this.transact(async (transaction) => {
      const { turn, step } = placeOf(transaction);
      const { events, entries } = claimInput(transaction.state.inbox, turn, step + 1);
      await transaction.append([stepEnd(turn, step, 'step'), ...events]);
      const place = { turn, step: step + 1, entries };
      await transaction.append(startStep(transaction.state, place, someRequest(), { uuid: uuidv7 }));
    });
  }

  /** The model's answer, with this many calls. */
  async message(calls = 0, changes: Partial<EventData<'assistant/message'>> = {}): Promise<void> {
    const blocks = Array.from({ length: calls }, (): ToolCallBlock => ({
      type: 'tool-call',
      callId: uuidv7() as CallId,
      name: 'bash',
      arguments: '{}',
    }));
    await this.transact(async (transaction) => {
      const { turn, step } = placeOf(transaction);
      await transaction.append([
        {
          type: 'assistant/message',
          key: eventKeys.assistantMessage(turn, step),
          turn,
          step,
          surface: 'append',
          data: {
            messageId: uuidv7() as MessageId,
            attempt: (transaction.state.openTurn?.step?.lastAttempt ?? 0) + 1,
            content: [{ type: 'text', text: 'Answer.' }, ...blocks],
            finish: calls > 0 ? 'tool-calls' : 'stop',
            usage: ZERO_USAGE,
            provider: 'demo',
            model: 'demo',
            timing: { requestedAt: transaction.at, endedAt: transaction.at },
            ...changes,
          },
        },
      ]);
    });
  }

  async end(reason: TurnEndReason = { kind: 'completed' }): Promise<void> {
    await this.transact(async (transaction) => {
      const { turn, step } = placeOf(transaction);
      const open = transaction.state.openTurn;
      await transaction.append([stepEnd(turn, step, 'end')]);
      if (open !== null) await transaction.append([turnEnd(open, reason, 'Answer.')]);
    });
  }

  /** A whole turn: what waits is taken, answered and done. */
  async wholeTurn(): Promise<void> {
    await this.enter();
    await this.message();
    await this.end();
  }

  openAttempt(place: Omit<AttemptRef, 'attempt'>, by: AttemptOwner = owner()): Promise<AttemptGrant> {
    return this.transact((transaction) => transaction.openAttempt(place, by));
  }

  /** An attempt that was granted, at the model of step 1 of turn 1 or at the call. */
  async attempt(call?: number, by: AttemptOwner = owner()): Promise<AttemptRef> {
    const place = { turn: 1, step: 1, ...(call === undefined ? {} : { call }) };
    const grant = await this.openAttempt(place, by);
    if (grant.kind !== 'granted') throw new Error(grant.kind);
    return { ...place, attempt: grant.attempt };
  }

  /** One frame of an attempt, with this text. */
  frame(ref: AttemptRef, text: string, index = 0): Promise<number> {
    return this.store.appendFrame(this.uid, ref, {
      index,
      chunks: [{ type: 'text-delta', index: 0, text }],
    });
  }
}

function placeOf(transaction: LogTransaction): { turn: number; step: number } {
  const turn = transaction.state.openTurn;
  if (turn?.step == null) throw new Error('No step is open.');
  return { turn: turn.number, step: turn.step.number };
}
