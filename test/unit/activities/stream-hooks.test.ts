import { afterEach, describe, expect, it, vi } from 'vitest';
import { wrapStream } from '../../../src/activities/stream-hooks.js';
import type { StreamHook, StreamInput } from '../../../src/activities/turn-hooks.js';
import type { ModelChunk } from '../../../src/contract/chunks.js';
import { ModelFailure } from '../../../src/model/model-failure.js';
import { HOOK_DEADLINE_MS } from '../../../src/tools/hooks.js';

afterEach(() => {
  vi.useRealTimers();
});

const START: ModelChunk = { type: 'block-start', index: 0, block: 'text' };
const END: ModelChunk = { type: 'block-end', index: 0 };
const FINISH: ModelChunk = { type: 'finish', reason: 'stop' };
const delta = (text: string): ModelChunk => ({ type: 'text-delta', index: 0, text });
const ANSWER = [START, delta('hi'), END, FINISH];

function setUp() {
  const abort = new AbortController();
  const input: StreamInput = {
    session: {
      id: 's1',
      uid: 'u',
      workspace: '/w',
      profile: 'default',
      provider: 'p',
      model: 'm',
      permission: 'read-only',
      metadata: {},
    },
    turn: 1,
    step: 1,
    attempt: 1,
    request: { model: 'm', system: '', messages: [], tools: [], parameters: {} },
    signal: abort.signal,
  };
  const provider = { started: 0, closed: false };
  async function* attempt() {
    provider.started += 1;
    try {
      yield* ANSWER;
    } finally {
      provider.closed = true;
    }
  }
  const wrap = (...runs: StreamHook[]) =>
    wrapStream(
      runs.map((run, index) => ({ name: `h${String(index)}`, run })),
      input,
      attempt,
    );
  return { abort, input, provider, attempt, wrap };
}

async function all(chunks: AsyncIterable<ModelChunk>): Promise<ModelChunk[]> {
  const seen: ModelChunk[] = [];
  for await (const chunk of chunks) seen.push(chunk);
  return seen;
}

async function failureOf(chunks: AsyncIterable<ModelChunk>): Promise<ModelFailure> {
  const error: unknown = await all(chunks).catch((reason: unknown) => reason);
  if (error instanceof ModelFailure) return error;
  throw new Error(`no ModelFailure, but ${JSON.stringify(error)}`);
}

const through: StreamHook = async function* (_input, next) {
  yield* next();
};

describe('a stream with hooks', () => {
  it('is the attempt itself where there are none', () => {
    const { input, attempt } = setUp();
    const stream = attempt();
    expect(wrapStream([], input, () => stream)).toBe(stream);
  });

  it('runs them from the outside in, and each may change what is shown', async () => {
    const order: string[] = [];
    const layer = (name: string): StreamHook =>
      async function* (_input, next) {
        order.push(name);
        for await (const chunk of next()) {
          yield chunk.type === 'text-delta' ? { ...chunk, text: `${name}(${chunk.text})` } : chunk;
        }
        order.push(`after ${name}`);
      };
    const { wrap } = setUp();
    expect(await all(wrap(layer('outer'), layer('inner')))).toEqual([
      START,
      delta('outer(inner(hi))'),
      END,
      FINISH,
    ]);
    expect(order).toEqual(['outer', 'inner', 'after inner', 'after outer']);
  });

  it('may be answered by one of them, and then asks no provider', async () => {
    const { wrap, provider } = setUp();
    const cached: StreamHook = async function* () {
      yield* [START, delta('cached'), END, FINISH];
    };
    expect(await all(wrap(through, cached))).toContainEqual(delta('cached'));
    expect(provider.started).toBe(0);
  });

  it('closes the provider where its reader leaves', async () => {
    const { wrap, provider } = setUp();
    for await (const chunk of wrap(through, through)) if (chunk.type === 'text-delta') break;
    await vi.waitUntil(() => provider.closed);
  });

  it('passes a failure of the provider on as it is', async () => {
    const { input } = setUp();
    const failure = new ModelFailure('RATE_LIMIT', 'Slow down.', { status: 429, retryAfterMs: 7 });
    const attempt = async function* (): AsyncGenerator<ModelChunk> {
      yield START;
      throw failure;
    };
    expect(await failureOf(wrapStream([{ name: 'h', run: through }], input, attempt))).toBe(failure);
  });
});

describe('a stream hook that fails', () => {
  const cases: [string, StreamHook, RegExp][] = [
    [
      'throws at once',
      () => {
        throw new Error('broken');
      },
      /broken/,
    ],
    [
      'throws in the middle',
      async function* (_input, next) {
        for await (const chunk of next()) {
          yield chunk;
          throw new Error('broken');
        }
      },
      /broken/,
    ],
    [
      'drops the finish',
      async function* (_input, next) {
        for await (const chunk of next()) if (chunk.type !== 'finish') yield chunk;
      },
      /without a finish/,
    ],
    [
      'goes on after the finish',
      async function* (_input, next) {
        yield* next();
        yield delta('more');
      },
      /after the finish/,
    ],
    [
      'yields what is no chunk',
      async function* () {
        yield { type: 'text-delta', index: 0, txet: 'x' } as unknown as ModelChunk;
      },
      /no chunk/,
    ],
    [
      'says that the answer was aborted',
      async function* () {
        yield { type: 'finish', reason: 'aborted' };
      },
      /no chunk/,
    ],
    [
      'asks the provider twice',
      async function* (_input, next) {
        yield* next();
        yield* next();
      },
      /twice/,
    ],
  ];

  it.each(cases)(
    'because it %s fails the attempt for good and by name, and closes the provider',
    async (_what, run, cause) => {
      const { wrap, provider } = setUp();
      const failure = await failureOf(wrap(through, run));
      expect(failure).toMatchObject({ code: 'INVALID_REQUEST', retryable: false });
      expect(failure.message).toMatch(/^The hook h1 failed: /);
      expect(failure.message).toMatch(cause);
      await vi.waitUntil(() => provider.started === 0 || provider.closed);
    },
  );

  it('because it hangs does so after its deadline, and the provider is closed', async () => {
    vi.useFakeTimers();
    const { wrap, provider } = setUp();
    const hung: StreamHook = async function* (_input, next) {
      for await (const chunk of next()) {
        yield chunk;
        await new Promise(() => {});
      }
    };
    const failing = failureOf(wrap(hung));
    await vi.advanceTimersByTimeAsync(HOOK_DEADLINE_MS);
    expect((await failing).message).toContain(`within ${String(HOOK_DEADLINE_MS)} ms`);
    expect(provider.closed).toBe(true);
  });

  it('is not one whose provider takes long, or whose reader does', async () => {
    vi.useFakeTimers();
    const { input } = setUp();
    const wait = () => new Promise((resolve) => setTimeout(resolve, HOOK_DEADLINE_MS * 3));
    const slow = async function* () {
      for (const chunk of ANSWER) {
        await wait();
        yield chunk;
      }
    };
    const seen: ModelChunk[] = [];
    const reading = (async () => {
      for await (const chunk of wrapStream([{ name: 'h', run: through }], input, slow)) {
        seen.push(chunk);
        await wait();
      }
    })();
    await vi.runAllTimersAsync();
    await reading;
    expect(seen).toEqual(ANSWER);
  });

  it('cannot hold up an abort, whose reason is thrown at once', async () => {
    const { wrap, abort } = setUp();
    const reason = new Error('cancelled');
    const reached = vi.fn();
    const hung: StreamHook = async function* () {
      reached();
      await new Promise(() => {});
      yield FINISH;
    };
    const reading = all(wrap(through, hung));
    await vi.waitFor(() => {
      expect(reached).toHaveBeenCalled();
    });
    abort.abort(reason);
    await expect(reading).rejects.toBe(reason);
  });
});
