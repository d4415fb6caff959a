import { describe, expect, it } from 'vitest';
import { FrameWriter } from '../../../src/activities/frame-writer.js';
import type { Chunk } from '../../../src/contract/chunks.js';
import type { SessionUid } from '../../../src/contract/ids.js';
import { StoreError } from '../../../src/store/session-store.js';

const UID = 'uid' as SessionUid;
const ATTEMPT = { turn: 1, step: 1, attempt: 1 };
const text = (value: string): Chunk => ({ type: 'text-delta', index: 0, text: value });

function storeOf(commit: () => Promise<void>) {
  const frames: { index: number; chunks: readonly Chunk[] }[] = [];
  return {
    frames,
    appendFrame: async (
      _uid: SessionUid,
      _ref: unknown,
      frame: { index: number; chunks: readonly Chunk[] },
    ) => {
      frames.push(frame);
      await commit();
      return frames.length;
    },
  };
}

describe('the frame writer', () => {
  it('stores the first chunk at once, and what comes while a commit runs in the next frame', async () => {
    const commits: (() => void)[] = [];
    const store = storeOf(() => new Promise((resolve) => commits.push(resolve)));
    const writer = new FrameWriter(store, UID, ATTEMPT, () => undefined);
    writer.push(text('a'));
    await Promise.resolve();
    await Promise.resolve();
    expect(store.frames).toEqual([{ index: 0, chunks: [text('a')] }]);
    writer.push(text('b'));
    writer.push(text('c'));
    const flushed = writer.flush();
    commits.shift()?.();
    await new Promise(setImmediate);
    commits.shift()?.();
    await flushed;
    expect(store.frames[1]).toEqual({ index: 1, chunks: [text('b'), text('c')] });
  });

  it('keeps a frame under 32 KB of text, but for one chunk that is larger', async () => {
    const store = storeOf(() => Promise.resolve());
    const writer = new FrameWriter(store, UID, ATTEMPT, () => undefined);
    for (let n = 0; n < 5; n += 1) writer.push(text('x'.repeat(10_000)));
    writer.push(text('y'.repeat(50_000)));
    await writer.flush();
    expect(store.frames.map(({ chunks }) => chunks.length)).toEqual([3, 2, 1]);
    expect(store.frames.map(({ index }) => index)).toEqual([0, 3, 5]);
  });

  it('tells once that a frame was refused, drops what waits, and throws it at the flush', async () => {
    const refusal = new StoreError('ATTEMPT_FENCED', 'given up');
    const store = storeOf(() => Promise.reject(refusal));
    const told: unknown[] = [];
    const writer = new FrameWriter(store, UID, ATTEMPT, (error) => told.push(error));
    writer.push(text('a'));
    await expect(writer.flush()).rejects.toBe(refusal);
    writer.push(text('b'));
    await expect(writer.flush()).rejects.toBe(refusal);
    expect(told).toEqual([refusal]);
    expect(store.frames).toHaveLength(1);
  });
});
