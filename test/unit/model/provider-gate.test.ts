import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { ModelChunk } from '../../../src/contract/chunks.js';
import { gatedAdapter } from '../../../src/model/gated-adapter.js';
import type { ModelAdapter } from '../../../src/model/model-adapter.js';
import { ModelFailure } from '../../../src/model/model-failure.js';
import { MAX_GATE_WAIT_MS, ProviderGate } from '../../../src/model/provider-gate.js';

const signal = new AbortController().signal;
const entry = (overrides: { key?: string; concurrency?: number | null; signal?: AbortSignal } = {}) => ({
  key: 'a',
  concurrency: null,
  signal,
  ...overrides,
});

/** Whether the promise has settled by now. */
async function isSettled(promise: Promise<unknown>): Promise<boolean> {
  let settled = false;
  const settle = (): void => {
    settled = true;
  };
  promise.then(settle, settle);
  await vi.advanceTimersByTimeAsync(0);
  return settled;
}

describe('the gate of a provider key', () => {
  let gate: ProviderGate;
  beforeEach(() => {
    vi.useFakeTimers();
    gate = new ProviderGate({ now: Date.now, random: () => 0.5 });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it('runs no more calls at once than the limit, in the order of their coming', async () => {
    const limited = entry({ concurrency: 2 });
    const [first, second] = [await gate.enter(limited), await gate.enter(limited)];
    const third = gate.enter(limited);
    const fourth = gate.enter(limited);
    expect(await isSettled(third)).toBe(false);
    first();
    first();
    expect(await isSettled(third)).toBe(true);
    expect(await isSettled(fourth)).toBe(false);
    second();
    (await third)();
    (await fourth)();
    expect(await isSettled(gate.enter(limited))).toBe(true);
  });

  it('makes other calls of the key wait until the provider takes calls again', async () => {
    gate.hold('a', 3000);
    const waiting = gate.enter(entry());
    expect(await isSettled(gate.enter(entry({ key: 'b' })))).toBe(true);
    await vi.advanceTimersByTimeAsync(2999);
    expect(await isSettled(waiting)).toBe(false);
    await vi.advanceTimersByTimeAsync(1000);
    expect(await isSettled(waiting)).toBe(true);
  });

  it('lets calls that waited together start one after another', async () => {
    const numbers = [0.1, 0.9];
    const spread = new ProviderGate({ now: Date.now, random: () => numbers.shift() ?? 0 });
    spread.hold('a', 1000);
    const [early, late] = [spread.enter(entry()), spread.enter(entry())];
    await vi.advanceTimersByTimeAsync(1100);
    expect(await isSettled(early)).toBe(true);
    expect(await isSettled(late)).toBe(false);
    await vi.advanceTimersByTimeAsync(400);
    expect(await isSettled(late)).toBe(true);
  });

  it('keeps the longer of two waits', async () => {
    gate.hold('a', 5000);
    gate.hold('a', 100);
    const waiting = gate.enter(entry());
    await vi.advanceTimersByTimeAsync(4000);
    expect(await isSettled(waiting)).toBe(false);
  });

  it('fails a call at once where the wait is longer than a running activity should sit out', async () => {
    gate.hold('a', MAX_GATE_WAIT_MS + 50_000);
    await expect(gate.enter(entry({ concurrency: 1 }))).rejects.toMatchObject({
      code: 'RATE_LIMIT',
      retryable: true,
      retryAfterMs: MAX_GATE_WAIT_MS + 50_250,
    });
    await vi.advanceTimersByTimeAsync(MAX_GATE_WAIT_MS + 50_000);
    expect(await isSettled(gate.enter(entry({ concurrency: 1 })))).toBe(true);
  });

  it.each(['for a place', 'for the provider'])(
    'ends a wait %s on an abort, with its reason',
    async (what) => {
      const abort = new AbortController();
      const reason = new Error('cancelled');
      const limited = entry({ concurrency: 1 });
      const leave = what === 'for a place' ? await gate.enter(limited) : undefined;
      if (leave === undefined) gate.hold('a', 5000);
      const waiting = gate.enter({ ...limited, signal: abort.signal });
      waiting.catch(() => undefined);
      await vi.advanceTimersByTimeAsync(10);
      abort.abort(reason);
      await expect(waiting).rejects.toBe(reason);
      leave?.();
      await vi.advanceTimersByTimeAsync(6000);
      expect(await isSettled(gate.enter(limited))).toBe(true);
    },
  );

  it('learns of a wait from a call that was told to wait, and frees its place', async () => {
    const told: ModelAdapter = {
      wire: 'chat-completions',
      adapterDefaults: {},
      stream: async function* (): AsyncGenerator<ModelChunk> {
        yield { type: 'block-start', index: 0, block: 'text' };
        throw new ModelFailure('RATE_LIMIT', 'slow', { retryAfterMs: 4000 });
      },
    };
    const adapter = gatedAdapter(told, gate, { key: 'a', concurrency: 1 });
    const seen: ModelChunk[] = [];
    const read = async (): Promise<void> => {
      const options = { signal, readBlob: () => Promise.reject(new Error('none')) };
      for await (const chunk of adapter.stream({} as never, options)) seen.push(chunk);
    };
    await expect(read()).rejects.toMatchObject({ code: 'RATE_LIMIT' });
    const next = gate.enter(entry({ concurrency: 1 }));
    await vi.advanceTimersByTimeAsync(3900);
    expect(await isSettled(next)).toBe(false);
    await vi.advanceTimersByTimeAsync(400);
    expect(await isSettled(next)).toBe(true);
  });
});
