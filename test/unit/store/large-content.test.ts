import { describe, expect, it } from 'vitest';
import type { NewEvent } from '../../../src/contract/events.js';
import type { Sha256 } from '../../../src/contract/ids.js';
import { moveLargeContent, textOfBlob } from '../../../src/store/large-content.js';
import { randomLog } from '../../support/random-log.js';
import { seededRandom } from '../model/seeded-random.js';

const LARGE = 'x'.repeat(70_000);

/** The event after large content was moved, and what was moved. */
async function moved(event: NewEvent) {
  const saved: { text: string; mediaType: string }[] = [];
  const after = await moveLargeContent(event, (bytes, mediaType) => {
    saved.push({ text: new TextDecoder().decode(bytes), mediaType });
    return Promise.resolve(saved.length.toString() as Sha256);
  });
  return { after, saved };
}

describe('large content', () => {
  it('is not looked for where an event is small: it stays the same object', async () => {
    for (const event of randomLog(seededRandom(3)).events) {
      const { after, saved } = await moved(event);
      expect(after).toBe(event);
      expect(saved).toEqual([]);
    }
  });

  it('leaves an event without it as it was, however many small parts it has', async () => {
    const removed = Array.from({ length: 5000 }, (_, n) => `item-${n.toString()}` as never);
    const claim: NewEvent = {
      type: 'agent/inbox/spliced',
      data: { target: 'next-step', start: 0, removed, outcome: 'claimed' },
    };
    expect((await moved(claim)).after).toEqual(claim);
    const content = Array.from({ length: 3 }, () => ({ type: 'text', text: 'y'.repeat(30_000) }) as const);
    const message: NewEvent = {
      type: 'user/message',
      data: { messageId: 'm' as never, content, source: { kind: 'subagent' } },
    };
    const { after, saved } = await moved(message);
    expect(after).toEqual(message);
    expect(saved).toEqual([]);
  });

  it('moves block by block, and says what was moved', async () => {
    const small = { type: 'text', text: 'small' } as const;
    const image = { type: 'image', blob: 'b' as Sha256, mediaType: 'image/png' } as const;
    const { after, saved } = await moved({
      type: 'tool/result',
      surface: 'append',
      sources: [4],
      data: {
        callId: 'c' as never,
        content: [small, { type: 'text', text: LARGE }, image, { type: 'text', text: `${LARGE}!` }],
        isError: false,
        meta: { kept: true },
        durationMs: 3,
      },
    });
    expect(saved.map(({ text, mediaType }) => [text.length, mediaType])).toEqual([
      [70_000, 'text/plain; charset=utf-8'],
      [70_001, 'text/plain; charset=utf-8'],
    ]);
    expect(after).toMatchObject({
      surface: 'append',
      sources: [4],
      data: {
        content: [
          small,
          { type: 'blob', sha256: '1', bytes: 70_000, head: 'x'.repeat(1024), tail: 'x'.repeat(1024) },
          image,
          { type: 'blob', sha256: '2', bytes: 70_001 },
        ],
        meta: { kept: true },
        durationMs: 3,
      },
    });
  });

  it('is moved with a byte order mark that it begins with, and comes back with it', async () => {
    const text = `\ufeff${LARGE}`;
    let bytes: Uint8Array | undefined;
    const data = { messageId: 'm' as never, source: { kind: 'subagent' } as const };
    const after = await moveLargeContent(
      { type: 'user/message', data: { ...data, content: [{ type: 'text', text }] } },
      (saved) => {
        bytes = saved;
        return Promise.resolve('1' as Sha256);
      },
    );
    expect(after.data).toMatchObject({ content: [{ type: 'blob', bytes: 70_003 }] });
    expect(textOfBlob(bytes!) === text).toBe(true);
  });

  it('that was moved before is not moved again', async () => {
    const event: NewEvent = {
      type: 'turn/end',
      data: {
        reason: { kind: 'completed' },
        output: LARGE,
        usage: {
          inputTokens: 0,
          outputTokens: 0,
          cacheReadTokens: 0,
          cacheWriteTokens: 0,
          reasoningTokens: 0,
          costUsd: 0,
        },
        steps: 1,
      },
    };
    const once = await moved(event);
    const twice = await moved(once.after);
    expect(once.saved).toHaveLength(1);
    expect(twice.saved).toEqual([]);
    expect(twice.after).toEqual(once.after);
  });
});
