/**
 * The `llm/stream` hooks around the chunks of one attempt.
 *
 * Owns that they keep a model adapter's promises: chunks that end with one `finish`, or a `ModelFailure`, or the signal's
 * reason at once. What is not theirs passes through: a failure of the provider is theirs to see and not to judge.
 */
import { type ModelChunk, modelChunkSchema } from '../contract/chunks.js';
import { ModelFailure } from '../model/model-failure.js';
import { HOOK_DEADLINE_MS, HookFailure, lateHook, type NamedHook } from '../tools/hooks.js';
import type { StreamHook, StreamInput, TurnHooks } from './turn-hooks.js';

type Chunks = AsyncIterable<ModelChunk>;

/**
 * The attempt inside of its hooks. A hook may keep the stream waiting for its deadline at a time, the provider's own time
 * not counted. One that throws, is late or yields what is no stream fails the attempt with `INVALID_REQUEST`, which is not
 * tried again, and a message that names it; the provider's connection is closed then.
 */
export function wrapStream(hooks: TurnHooks['stream'], input: StreamInput, attempt: () => Chunks): Chunks {
  return hooks.reduceRight<() => Chunks>((next, hook) => () => hooked(hook, input, next), attempt)();
}

async function* hooked(hook: NamedHook<StreamHook>, input: StreamInput, next: () => Chunks): Chunks {
  const time = new HookTime(hook.timeoutMs ?? HOOK_DEADLINE_MS, input.signal);
  let inner: AsyncIterator<ModelChunk> | undefined;
  const startInner = (): Chunks => {
    if (inner !== undefined) throw new Error('it called next() twice');
    inner = next()[Symbol.asyncIterator]();
    const measured = time.leavingOut(inner);
    return { [Symbol.asyncIterator]: () => measured };
  };
  let outer: AsyncIterator<unknown> | undefined;
  let finished = false;
  try {
    outer = hook.run(input, startInner)[Symbol.asyncIterator]();
    for (;;) {
      const pulled = await time.limit(outer.next());
      // Beyond the finish as well: what the hook does after its loop belongs to it.
      if (pulled.done === true) break;
      if (finished) throw new Error('it yielded a chunk after the finish');
      const chunk = checkedChunk(pulled.value);
      finished = chunk.type === 'finish';
      yield chunk;
    }
    if (!finished) throw new Error('its stream ended without a finish');
  } catch (error) {
    input.signal.throwIfAborted();
    if (error instanceof ModelFailure) throw error;
    const { message } = new HookFailure(hook.name, error);
    throw new ModelFailure('INVALID_REQUEST', message, { retryable: false });
  } finally {
    time.end();
    // Not awaited, since a hook that hangs does not settle. It cannot close the stream inside of it either.
    close(outer);
    close(inner);
  }
}

function checkedChunk(value: unknown): ModelChunk {
  const parsed = modelChunkSchema.safeParse(value);
  if (parsed.success && !(parsed.data.type === 'finish' && parsed.data.reason === 'aborted')) {
    return parsed.data;
  }
  throw new Error('it yielded something that is no chunk of an answer');
}

function close(iterator: AsyncIterator<unknown> | undefined): void {
  iterator?.return?.().catch(() => {
    // The attempt is over; how its parts end changes nothing any more.
  });
}

/** Measures what a hook takes by itself: it runs while the hook is pulled and reads nothing from inside. */
class HookTime {
  readonly #timeoutMs: number;
  readonly #signal: AbortSignal;
  #isPulled = false;
  #reads = 0;
  #timer: NodeJS.Timeout | undefined;
  #giveUp: (reason: unknown) => void = () => {};

  constructor(timeoutMs: number, signal: AbortSignal) {
    this.#timeoutMs = timeoutMs;
    this.#signal = signal;
    signal.addEventListener('abort', this.#onAbort, { once: true });
  }

  readonly #onAbort = (): void => {
    this.#giveUp(this.#signal.reason);
  };

  /** The pull's result. @throws where the hook is late, and the signal's reason at once. */
  async limit<T>(pull: Promise<T>): Promise<T> {
    const givenUp = new Promise<never>((_resolve, reject) => {
      this.#giveUp = reject;
    });
    this.#isPulled = true;
    this.#tick();
    if (this.#signal.aborted) this.#onAbort();
    try {
      return await Promise.race([pull, givenUp]);
    } finally {
      this.#isPulled = false;
      this.#tick();
    }
  }

  /** The stream inside of the hook; the time that the hook waits for it is not the hook's. */
  leavingOut(inner: AsyncIterator<ModelChunk>): AsyncIterator<ModelChunk> {
    return {
      next: async () => {
        this.#reads += 1;
        this.#tick();
        try {
          return await inner.next();
        } finally {
          this.#reads -= 1;
          this.#tick();
        }
      },
      return: async () => (await inner.return?.()) ?? { done: true, value: undefined },
    };
  }

  end(): void {
    clearTimeout(this.#timer);
    this.#signal.removeEventListener('abort', this.#onAbort);
  }

  #tick(): void {
    clearTimeout(this.#timer);
    if (!this.#isPulled || this.#reads > 0) return;
    this.#timer = setTimeout(() => {
      this.#giveUp(lateHook(this.#timeoutMs));
    }, this.#timeoutMs);
  }
}
