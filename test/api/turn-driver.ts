/** Plays the engine for one session: takes its turns forward by appends and frames, as the activities do. */
import { eventKeys } from '../../src/contract/event-keys.js';
import type { Chunk } from '../../src/contract/chunks.js';
import type { CallId, MessageId, SessionUid } from '../../src/contract/ids.js';
import type { NewEvent } from '../../src/contract/events.js';
import type { TurnEndReason } from '../../src/contract/turn-end.js';
import { ZERO_USAGE } from '../../src/contract/usage.js';
import { claimInput } from '../../src/core/inbox.js';
import type { SessionStore } from '../../src/store/session-store.js';

const RUN = { runId: 'run' };

export class TurnDriver {
  #turn = 0;
  #step = 0;
  #attempt = 0;
  #chunks = 0;
  #tries = 0;

  constructor(
    private readonly store: SessionStore,
    private readonly uid: SessionUid,
  ) {}

  /** Enters the open turn and starts its first step. */
  async enter(): Promise<number> {
    await this.store.transact(this.uid, async (transaction) => {
      const turn = transaction.state.openTurn?.number ?? 0;
      this.#turn = turn;
      this.#step = 1;
      await transaction.claimTurn(turn, RUN);
      const claim = claimInput(transaction.state.inbox, turn, 1);
      await transaction.append([
        {
          type: 'turn/start',
          key: eventKeys.turnStart(turn),
          turn,
          data: { requestIds: claim.entries.map(({ requestId }) => requestId) },
        },
        ...claim.events,
        { type: 'step/start', key: eventKeys.stepStart(turn, 1), turn, step: 1, data: {} },
        ...claim.entries.map(({ content, source }, n): NewEvent => ({
          type: 'user/message',
          key: eventKeys.userMessage(turn, 1, n),
          turn,
          step: 1,
          surface: 'append',
          data: { messageId: `m-${String(turn)}-${String(n)}` as MessageId, content: [...content], source },
        })),
      ]);
    });
    return this.#turn;
  }

  /** Begins an attempt at the step's model call. */
  async attempt(): Promise<number> {
    this.#tries += 1;
    const grant = await this.store.transact(this.uid, (transaction) =>
      transaction.openAttempt(
        { turn: this.#turn, step: this.#step },
        { run: RUN, activityId: 'model', engineAttempt: this.#tries },
      ),
    );
    if (grant.kind !== 'granted') throw new Error('The attempt was refused.');
    this.#attempt = grant.attempt;
    this.#chunks = 0;
    return grant.attempt;
  }

  /** Streams texts, each as a frame of its own. Returns the last frame's number. */
  async stream(...texts: string[]): Promise<number> {
    let frame = 0;
    for (const text of texts) {
      const chunks: Chunk[] = [
        ...(this.#chunks === 0 ? [{ type: 'block-start', index: 0, block: 'text' } as const] : []),
        { type: 'text-delta', index: 0, text },
      ];
      frame = await this.store.appendFrame(
        this.uid,
        { turn: this.#turn, step: this.#step, attempt: this.#attempt },
        { index: this.#chunks, chunks },
      );
      this.#chunks += chunks.length;
    }
    return frame;
  }

  /** The attempt fails and its text is withdrawn. */
  async fail(): Promise<void> {
    const place = { turn: this.#turn, step: this.#step };
    const attempt = this.#attempt;
    const at = new Date().toISOString();
    await this.store.transact(this.uid, async (transaction) => {
      await transaction.closeAttempt({ ...place, attempt });
      await transaction.append([
        {
          type: 'assistant/attempt',
          key: eventKeys.assistantAttempt(this.#turn, this.#step, attempt),
          ...place,
          data: {
            attempt,
            outcome: 'failed',
            failure: { code: 'SERVER', message: 'overloaded' },
            shownCharacters: 1,
          },
        },
        {
          type: 'llm/retry',
          key: eventKeys.llmRetry(this.#turn, this.#step, attempt),
          ...place,
          data: { attempt, delayMs: 10, retryAt: at, code: 'SERVER', from: 'backoff' },
        },
      ]);
    });
  }

  /** The attempt settles with its message, and with calls where they are named. */
  async message(text: string, calls: readonly string[] = []): Promise<void> {
    const at = new Date().toISOString();
    const place = { turn: this.#turn, step: this.#step };
    await this.store.transact(this.uid, async (transaction) => {
      await transaction.closeAttempt({ ...place, attempt: this.#attempt });
      await transaction.append([
        {
          type: 'assistant/message',
          key: eventKeys.assistantMessage(this.#turn, this.#step),
          ...place,
          surface: 'append',
          data: {
            messageId: `a-${String(this.#turn)}-${String(this.#step)}` as MessageId,
            attempt: this.#attempt,
            content: [
              { type: 'text', text },
              ...calls.map((name, index) => ({
                type: 'tool-call' as const,
                callId: this.callId(index),
                name,
                arguments: '{}',
              })),
            ],
            finish: calls.length === 0 ? 'stop' : 'tool-calls',
            usage: { ...ZERO_USAGE, outputTokens: 1 },
            provider: 'demo',
            model: 'demo',
            timing: { requestedAt: at, endedAt: at },
          },
        },
      ]);
    });
  }

  callId(index: number): CallId {
    return `call-${String(this.#turn)}-${String(this.#step)}-${String(index)}` as CallId;
  }

  /** Starts a call and opens an attempt of it. */
  async startCall(index: number, name: string): Promise<void> {
    const place = { turn: this.#turn, step: this.#step };
    await this.store.transact(this.uid, async (transaction) => {
      await transaction.openAttempt(
        { ...place, call: index },
        { run: RUN, activityId: `tool-${String(index)}`, engineAttempt: 1 },
      );
      await transaction.append([
        {
          type: 'tool/call',
          key: eventKeys.toolCall(this.#turn, this.#step, index),
          ...place,
          data: {
            callId: this.callId(index),
            index,
            name,
            arguments: '{}',
            effect: 'read',
            mode: 'parallel',
          },
        },
      ]);
    });
  }

  /** A running call writes output. Returns the frame's number. */
  async output(call: number, index: number, text: string): Promise<number> {
    return this.store.appendFrame(
      this.uid,
      { turn: this.#turn, step: this.#step, call, attempt: 1 },
      { index, chunks: [{ type: 'tool-output', stream: 'stdout', text }] },
    );
  }

  async result(index: number, text: string): Promise<void> {
    const place = { turn: this.#turn, step: this.#step };
    await this.store.transact(this.uid, async (transaction) => {
      await transaction.closeAttempt({ ...place, call: index, attempt: 1 });
      await transaction.append([
        {
          type: 'tool/result',
          key: eventKeys.toolResult(this.#turn, this.#step, index),
          ...place,
          surface: 'append',
          data: {
            callId: this.callId(index),
            content: [{ type: 'text', text }],
            isError: false,
            durationMs: 1,
          },
        },
      ]);
    });
  }

  /** Ends the step and begins the next one. */
  async nextStep(): Promise<void> {
    const before = { turn: this.#turn, step: this.#step };
    this.#step += 1;
    const place = { turn: this.#turn, step: this.#step };
    await this.append([
      {
        type: 'step/end',
        key: eventKeys.stepEnd(before.turn, before.step),
        ...before,
        data: { next: 'step' },
      },
      { type: 'step/start', key: eventKeys.stepStart(place.turn, place.step), ...place, data: {} },
    ]);
  }

  async end(reason: TurnEndReason = { kind: 'completed' }, output = ''): Promise<void> {
    const place = { turn: this.#turn, step: this.#step };
    await this.append([
      { type: 'step/end', key: eventKeys.stepEnd(place.turn, place.step), ...place, data: { next: 'end' } },
      {
        type: 'turn/end',
        key: eventKeys.turnEnd(this.#turn),
        turn: this.#turn,
        data: { reason, output, usage: { ...ZERO_USAGE, outputTokens: 1 }, steps: this.#step },
      },
    ]);
  }

  /** A whole turn with one streamed message. */
  async wholeTurn(text: string): Promise<number> {
    const turn = await this.enter();
    await this.attempt();
    await this.stream(text);
    await this.message(text);
    await this.end({ kind: 'completed' }, text);
    return turn;
  }

  async append(events: readonly NewEvent[]): Promise<void> {
    await this.store.transact(this.uid, (transaction) => transaction.append(events));
  }
}
