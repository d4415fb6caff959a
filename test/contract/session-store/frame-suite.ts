/** Frames: what is shown of a running attempt, in one order with the log, and never of one that has settled. */
import { beforeEach, describe, expect, it } from 'vitest';
import type { Chunk } from '../../../src/contract/chunks.js';
import { owner, title, useStore, type OpenStore, type TestSession } from './store-fixture.js';

const WITHDRAWN = { type: 'assistant/attempt', turn: 1, step: 1 } as const;

export function describeFrames(open: OpenStore): void {
  describe('a frame', () => {
    const fixture = useStore(open);
    let session: TestSession;
    beforeEach(async () => {
      session = await fixture.session();
      await session.prompt();
      await session.enter();
    });
    const tail = (seq = -1, frame = 0, limit = 1000) =>
      fixture.store.readTail(session.uid, { seq, frame, limit });
    const textsOf = ({ frames }: Awaited<ReturnType<typeof tail>>) =>
      frames.flatMap(({ frame }) => frame.chunks.map((chunk) => ('text' in chunk ? chunk.text : '')));

    it('comes back as it was, with its place and the seq that the log had', async () => {
      await session.message(1);
      const ref = await session.attempt(0);
      const { headSeq } = await session.state();
      const chunks: Chunk[] = [
        { type: 'tool-output', stream: 'stderr', text: 'a\0\ud800\u2028' },
        { type: 'tool-progress', fraction: 0.5 },
      ];
      const number = await fixture.store.appendFrame(session.uid, ref, { index: 7, chunks });
      expect(await tail()).toMatchObject({
        frames: [
          { seq: headSeq, frame: { frame: number, turn: 1, step: 1, call: 0, attempt: 1, index: 7, chunks } },
        ],
        headSeq,
        headFrame: number,
      });
      await session.transact((transaction) => transaction.closeAttempt(ref));
      const model = await session.attempt();
      await session.frame(model, 'x');
      const inside = await session.transact((transaction) => transaction.frames(ref));
      expect(inside.map(({ chunks: own }) => own)).toEqual([chunks]);
    });

    it('of the model names no call', async () => {
      await session.frame(await session.attempt(), 'x');
      const { frames } = await tail();
      expect(frames[0]?.frame).not.toHaveProperty('call');
    });

    it('has a number that grows for ever: over attempts, after a drop and after a new start', async () => {
      const numbers: number[] = [];
      const first = await session.attempt();
      numbers.push(await session.frame(first, 'a'), await session.frame(first, 'b', 1));
      const second = await session.attempt(undefined, owner({ engineAttempt: 2 }));
      numbers.push(await session.frame(second, 'c'));
      await fixture.store.dropFrames(session.uid, 1, 1);
      numbers.push(await session.frame(second, 'd', 1));
      await fixture.store.dropFrames(session.uid, 1, 1);
      await fixture.reopen();
      numbers.push(await session.frame(second, 'e', 2));
      expect(numbers).toEqual([1, 2, 3, 4, 5]);
      expect(await tail()).toMatchObject({ headFrame: 5 });
    });

    it('has a number of its own where many are written at once, each session counting apart', async () => {
      await session.message(3);
      const refs = [await session.attempt(0), await session.attempt(1), await session.attempt(2)];
      const numbers = await Promise.all(
        Array.from({ length: 30 }, (_, n) => session.frame(refs[n % 3]!, n.toString(), n)),
      );
      expect([...numbers].sort((a, b) => a - b)).toEqual(Array.from({ length: 30 }, (_, n) => n + 1));
      const other = await fixture.session();
      await other.prompt();
      await other.enter();
      expect(await other.frame(await other.attempt(), 'x')).toBe(1);
      const { frames } = await tail();
      expect(frames.map(({ frame }) => frame.frame)).toEqual(Array.from({ length: 30 }, (_, n) => n + 1));
    });

    it('is read after the number that a reader has', async () => {
      const ref = await session.attempt();
      for (const [index, text] of ['a', 'b', 'c', 'd'].entries()) await session.frame(ref, text, index);
      const { headSeq } = await session.state();
      expect(textsOf(await tail(headSeq, 2))).toEqual(['c', 'd']);
      expect(textsOf(await tail(headSeq, 4))).toEqual([]);
      expect(textsOf(await tail(headSeq, 0, 3))).toEqual(['a', 'b', 'c']);
      expect(textsOf(await tail(headSeq, 3, 3))).toEqual(['d']);
    });

    it('is never read once its attempt has its message or is withdrawn, though it is kept still', async () => {
      const lost = await session.attempt();
      await session.frame(lost, 'lost');
      const next = await session.attempt(undefined, owner({ engineAttempt: 2 }));
      await session.append({ ...WITHDRAWN, data: { attempt: 1, outcome: 'lost', shownCharacters: 4 } });
      expect(textsOf(await tail())).toEqual([]);
      await session.frame(next, 'shown');
      expect(textsOf(await tail())).toEqual(['shown']);
      await session.transact((transaction) => transaction.closeAttempt(next));
      await session.message(0, { attempt: 2 });
      const page = await tail();
      expect(page.frames).toEqual([]);
      expect(page.headFrame).toBe(2);
    });

    it('is never read once its call has its result, while its siblings are', async () => {
      await session.message(2);
      const [first, second] = [await session.attempt(0), await session.attempt(1)];
      await session.frame(first, 'first');
      await session.frame(second, 'second');
      const { openTurn } = await session.state();
      await session.append({
        type: 'tool/result',
        turn: 1,
        step: 1,
        surface: 'append',
        data: { callId: openTurn!.step!.calls[0]!.callId, content: [], isError: false, durationMs: 1 },
      });
      expect(textsOf(await tail())).toEqual(['second']);
    });

    it('is never read after the end of its step', async () => {
      await session.message(1);
      await session.frame(await session.attempt(0), 'x');
      await session.nextStep();
      expect((await tail()).frames).toEqual([]);
      await session.message();
      await session.end();
      expect(await tail()).toMatchObject({ frames: [], headFrame: 1 });
    });

    it('is dropped with the steps up to its own, and with any later turn', async () => {
      const ref = await session.attempt();
      await session.frame(ref, 'x');
      await fixture.store.dropFrames(session.uid, 1, 0);
      expect(await session.transact((transaction) => transaction.frames(ref))).toHaveLength(1);
      await fixture.store.dropFrames(session.uid, 1, 1);
      expect(await session.transact((transaction) => transaction.frames(ref))).toEqual([]);
      await session.frame(ref, 'left by a drop that was lost');
      await fixture.store.dropFrames(session.uid, 2, 0);
      expect(await session.transact((transaction) => transaction.frames(ref))).toEqual([]);
    });
  });

  describe('the tail of a log', () => {
    const fixture = useStore(open);

    it('has events after the cursor, and frames only where they reach the head', async () => {
      const session = await fixture.session();
      await session.prompt();
      await session.enter();
      const ref = await session.attempt();
      await session.frame(ref, 'x');
      const { headSeq } = await session.state();
      const tail = (seq: number, limit: number) =>
        fixture.store.readTail(session.uid, { seq, frame: 0, limit });
      const seqs = async (seq: number, limit: number) => {
        const { events, frames } = await tail(seq, limit);
        return [events.map((event) => event.seq), frames.length];
      };
      const all = Array.from({ length: headSeq + 1 }, (_, seq) => seq);
      expect(await seqs(-1, 100)).toEqual([all, 1]);
      expect(await seqs(-1, headSeq + 1)).toEqual([all, 1]);
      expect(await seqs(-1, headSeq)).toEqual([all.slice(0, -1), 0]);
      expect(await seqs(2, 2)).toEqual([[3, 4], 0]);
      expect(await seqs(headSeq, 1)).toEqual([[], 1]);
      expect(await seqs(headSeq + 10, 1)).toEqual([[], 1]);
    });

    it('is one cut: no frame is later than its events, and none of an attempt that they settle', async () => {
      const session = await fixture.session();
      await session.prompt();
      await session.enter();
      const pages: ReturnType<typeof fixture.store.readTail>[] = [];
      const read = () => pages.push(fixture.store.readTail(session.uid, { seq: -1, frame: 0, limit: 1000 }));
      const writes: Promise<unknown>[] = [];
      for (let attempt = 1; attempt <= 5; attempt++) {
        const ref = await session.attempt(undefined, owner({ engineAttempt: attempt }));
        for (let index = 0; index < 4; index++) {
          writes.push(session.frame(ref, 'x', index));
          read();
          writes.push(session.append(title('meanwhile')));
          read();
        }
        writes.push(session.append({ ...WITHDRAWN, data: { attempt, outcome: 'lost', shownCharacters: 4 } }));
        read();
        await Promise.all(writes);
        read();
      }
      for (const { events, frames, headSeq } of await Promise.all(pages)) {
        expect(events.at(-1)?.seq).toBe(headSeq);
        const settled = events.flatMap((event) =>
          event.type === 'assistant/attempt' ? [event.data.attempt] : [],
        );
        for (const { seq, frame } of frames) {
          expect(seq).toBeLessThanOrEqual(headSeq);
          expect(settled).not.toContain(frame.attempt);
        }
        const seqs = frames.map(({ seq }) => seq);
        expect(seqs).toEqual([...seqs].sort((a, b) => a - b));
      }
    });

    it('of a session without frames has none, and no number', async () => {
      const session = await fixture.session();
      expect(await fixture.store.readTail(session.uid, { seq: -1, frame: 0, limit: 10 })).toMatchObject({
        frames: [],
        headSeq: 0,
        headFrame: 0,
      });
    });
  });
}
