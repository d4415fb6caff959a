/** A session that many callers press at once over HTTP: what each was told is kept, and held against the log at the end. */
import { expect } from 'vitest';
import { ApiError } from '../../src/client/api-error.js';
import type { Client, NewPrompt, QueueChange } from '../../src/client/client.js';
import type { SessionEvent } from '../../src/contract/events.js';
import type { PromptAnswer } from '../../src/contract/http.js';
import type { ItemId, SessionUid } from '../../src/contract/ids.js';
import { deriveMessages } from '../../src/core/messages.js';
import { checkLog, checkMessages } from './log-invariants.js';
import type { TurnRuntime } from './turn-runtime.js';

/** What a caller was told last of an item. */
interface Item {
  readonly requestId: string;
  /** The text of the last accepted edit; undefined where edits overlap, and none is the last. */
  text: string | undefined;
  fate: 'accepted' | 'removed' | 'claimed';
}

export class RacedSession {
  readonly #items = new Map<string, Item>();
  /** Prompts that interrupted, in no order. */
  readonly #interrupting = new Set<string>();
  #prompts = 0;

  private constructor(
    readonly id: string,
    readonly uid: SessionUid,
    private readonly runtime: TurnRuntime,
    private readonly client: Client,
  ) {}

  static async create(runtime: TurnRuntime, client: Client, id: string): Promise<RacedSession> {
    await client.createSession({ id });
    const record = await runtime.store.findSession('default', id as never);
    if (record === undefined) throw new Error('The session is gone.');
    return new RacedSession(id, record.uid, runtime, client);
  }

  async prompt(prompt: NewPrompt = {}): Promise<PromptAnswer> {
    const { text = `prompt ${String((this.#prompts += 1))}` } = prompt;
    const answer = await this.client.prompt(this.id, { ...prompt, text });
    if (!answer.duplicate) {
      this.#items.set(answer.itemId, { requestId: answer.requestId, text, fate: 'accepted' });
    }
    if (prompt.whenRunning === 'interrupt') this.#interrupting.add(answer.itemId);
    return answer;
  }

  /** As {@link prompt}; whether it was taken, where it is one that may be refused. */
  async tryPrompt(prompt: NewPrompt): Promise<boolean> {
    return unlessCode('TURN_RUNNING', this.prompt(prompt));
  }

  cancel(): Promise<unknown> {
    return this.client.cancel(this.id);
  }

  /** Changes an item; one that was claimed before is claimed for good. Nobody else may change it meanwhile. */
  async change(itemId: string, change: QueueChange): Promise<void> {
    const item = this.#items.get(itemId)!;
    const done = await unlessCode('ALREADY_CLAIMED', this.client.changeQueued(this.id, itemId, change));
    if (!done) item.fate = 'claimed';
    else if (change.text !== undefined) item.text = change.text;
  }

  async remove(itemId: string): Promise<void> {
    const done = await unlessCode('ALREADY_CLAIMED', this.client.removeQueued(this.id, itemId));
    this.#items.get(itemId)!.fate = done ? 'removed' : 'claimed';
  }

  /** Resolves when no turn is open any more. */
  quiet(): Promise<void> {
    const { store } = this.runtime;
    return new Promise((resolve, reject) => {
      const check = () => {
        store.readState(this.uid).then(({ openTurn }) => {
          if (openTurn !== null) return;
          unwatch();
          resolve();
        }, reject);
      };
      const unwatch = store.watch(this.uid, check);
      check();
    });
  }

  /** Resolves with the next event of these types that comes. */
  next(...types: SessionEvent['type'][]): Promise<void> {
    const { store } = this.runtime;
    return new Promise((resolve) => {
      const unwatch = store.watch(this.uid, (notice) => {
        if (notice.kind !== 'events') return;
        void store.readEvents(this.uid, { after: notice.afterSeq, limit: 1000 }).then((events) => {
          if (!events.some(({ type }) => types.includes(type))) return;
          unwatch();
          resolve();
        });
      });
    });
  }

  /**
   * Waits until all is quiet, and holds the whole log against the rules of every log and against what callers were told:
   * each accepted prompt was claimed once, or removed, or waits still.
   */
  async settle(): Promise<readonly SessionEvent[]> {
    await this.quiet();
    const events = await this.runtime.store.readEvents(this.uid, { limit: 100_000 });
    expect(checkLog(events)).toEqual([]);
    expect(checkMessages(deriveMessages(events).messages)).toEqual([]);
    const traces = traceItems(events);
    expect([...traces.keys()].sort()).toEqual([...this.#items.keys()].sort());
    for (const [itemId, item] of this.#items) {
      const trace = traces.get(itemId as ItemId)!;
      const where = `${this.id}, ${JSON.stringify(item)}`;
      expect(trace.claims.length + trace.removals + trace.waits, where).toBe(1);
      if (item.fate === 'removed') expect(trace.removals, where).toBe(1);
      if (item.fate === 'claimed') expect(trace.claims, where).toHaveLength(1);
      if (item.fate === 'accepted') expect(trace.removals, where).toBe(0);
      if (trace.waits > 0) expect(trace.wakes, where).toBe(false);
      if (trace.shown !== undefined) expect(trace.shown, where).toBe(item.text);
      if (this.#interrupting.has(itemId)) expect(trace.claims[0], where).toBeGreaterThan(trace.openTurn);
    }
    return events;
  }
}

interface Trace {
  /** The turns that claimed it. */
  readonly claims: number[];
  removals: number;
  /** 1 while it waits. */
  waits: number;
  wakes: boolean;
  /** The turn that was open when it came. */
  readonly openTurn: number;
  shown?: string;
}

function traceItems(events: readonly SessionEvent[]): Map<ItemId, Trace> {
  const traces = new Map<ItemId, Trace>();
  const byRequest = new Map<string, Trace>();
  let lastTurn = 0;
  let open = 0;
  for (const event of events) {
    if (event.type === 'turn/start') open = event.turn ?? 0;
    if (event.type === 'turn/end') {
      lastTurn = open;
      open = 0;
    }
    if (event.type === 'user/message' && event.data.source.kind === 'user') {
      const trace = byRequest.get(event.data.source.requestId)!;
      trace.shown = event.data.content.map((block) => (block.type === 'text' ? block.text : '')).join('');
    }
    if (event.type !== 'agent/inbox/spliced') continue;
    const { removed = [], inserted = [], outcome } = event.data;
    for (const item of inserted) {
      const known = traces.get(item.itemId);
      if (known !== undefined) known.wakes = item.wakes;
      else {
        const openTurn = open > 0 ? open : lastTurn;
        const trace: Trace = { claims: [], removals: 0, waits: 1, wakes: item.wakes, openTurn };
        traces.set(item.itemId, trace);
        byRequest.set(item.requestId, trace);
      }
    }
    if (outcome !== 'claimed' && outcome !== 'canceled') continue;
    for (const itemId of removed) {
      const trace = traces.get(itemId)!;
      trace.waits = 0;
      if (outcome === 'claimed') trace.claims.push(event.turn ?? 0);
      else trace.removals += 1;
    }
  }
  return traces;
}

/** Whether the call was taken; false where it was refused with this code. */
async function unlessCode(code: string, call: Promise<unknown>): Promise<boolean> {
  try {
    await call;
    return true;
  } catch (error) {
    if (error instanceof ApiError && error.code === code) return false;
    throw error;
  }
}
