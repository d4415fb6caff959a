/** Content: what is appended comes back as it was, however odd or large it is. */
import { describe, expect, it } from 'vitest';
import { MAX_INLINE_BYTES, type BlobBlock } from '../../../src/contract/content.js';
import type { EventData, NewEvent } from '../../../src/contract/events.js';
import type { ApprovalId, CallId, MessageId } from '../../../src/contract/ids.js';
import { textOfBlob } from '../../../src/store/large-content.js';
import { SOME_SHA256 } from '../../support/log-builder.js';
import { expectCode, title, useStore, type OpenStore, type TestSession } from './store-fixture.js';

const SMILE = '\u{1F600}';
const ODD_TEXTS: [string, string][] = [
  ['NUL', 'a\0b\0'],
  ['a lone high surrogate', 'a\ud800b'],
  ['a lone low surrogate', '\udfff'],
  ['surrogates in the wrong order', '\udc00\ud800'],
  ['line and paragraph separators', 'a\u2028b\u2029c'],
  ['emoji and combined letters', `${SMILE}e\u0301\u200d\u{1F469}\u200d\u{1F4BB}`],
  ['all line ends and controls', '\r\n\r\n\t\b\f\u001b[0m\u007f'],
  ['a byte order mark', '\ufeffa\ufeff'],
  ['quotes and backslashes', '"\\"\'\\u0041${x}%s'],
  ['nothing', ''],
];
const LARGE = MAX_INLINE_BYTES + 1;

function result(text: string): NewEvent {
  const callId = 'c' as CallId;
  return {
    type: 'tool/result',
    surface: 'append',
    data: { callId, content: [{ type: 'text', text }], isError: false, durationMs: 1 },
  };
}

async function lastEvent(session: TestSession) {
  return (await session.events()).at(-1)!;
}

/** The text of a block that must have been moved to the blob store. */
async function wholeOf(session: TestSession, block: unknown): Promise<string> {
  expect(block).toMatchObject({ type: 'blob' });
  const { sha256, bytes, mediaType } = block as BlobBlock;
  const blob = await session.store.readBlob(session.uid, sha256);
  expect(blob).toMatchObject({ mediaType });
  expect(blob?.bytes.byteLength).toBe(bytes);
  return textOfBlob(blob!.bytes);
}

export function describeContent(open: OpenStore): void {
  describe('a text', () => {
    const fixture = useStore(open);

    it.each(ODD_TEXTS)('with %s comes back as it was', async (_what, text) => {
      const session = await fixture.session();
      const [returned] = await session.append(title(text), result(text));
      expect(returned?.data).toMatchObject({ title: text });
      await fixture.reopen();
      const [, first, second] = await session.events();
      expect(first?.data).toMatchObject({ title: text });
      expect(second?.data).toMatchObject({ content: [{ type: 'text', text }] });
      expect((await session.state()).title).toBe(text);
    });

    it.each(ODD_TEXTS)('with %s comes back whole where it is large', async (_what, odd) => {
      const session = await fixture.session();
      const text = odd + 'x'.repeat(LARGE) + odd;
      await session.append(result(text));
      await fixture.reopen();
      const { data } = await lastEvent(session);
      const [block] = (data as EventData<'tool/result'>).content;
      const back = block?.type === 'text' ? block.text : await wholeOf(session, block);
      expect(back === text).toBe(true);
    });

    it('keeps numbers that are too large for JavaScript, in arguments that stay raw', async () => {
      const session = await fixture.session();
      const raw = '{"id": 123456789012345678901234567890, "x":1e400 , "a":-0.0}';
      await session.append({
        type: 'tool/call',
        data: {
          callId: 'c' as CallId,
          index: 0,
          name: 'n',
          arguments: raw,
          effect: 'read',
          mode: 'parallel',
        },
      });
      await fixture.reopen();
      expect((await lastEvent(session)).data).toMatchObject({ arguments: raw });
    });
  });

  describe('an object', () => {
    const fixture = useStore(open);

    it('keeps the order of its keys, at every depth', async () => {
      const session = await fixture.session();
      const value = { z: 1, a: { y: [{ b: 1, a: 2 }], x: null }, m: true, A: 'x' };
      const text = JSON.stringify(value);
      await session.append(
        {
          type: 'approval/decided',
          data: { approvalId: 'a' as ApprovalId, outcome: 'allowed', by: 'ann', arguments: value },
        },
        {
          type: 'request/header',
          data: {
            provider: 'p',
            model: 'm',
            wire: 'demo',
            parameters: {},
            adapterDefaults: value,
            tools: [],
            reason: 'initial',
          },
        },
        {
          type: 'tool/result',
          surface: 'append',
          data: { callId: 'c' as CallId, content: [], isError: false, meta: value, durationMs: 0 },
        },
      );
      await fixture.reopen();
      const [, decided, header, toolResult] = await session.events();
      expect(JSON.stringify((decided?.data as EventData<'approval/decided'>).arguments)).toBe(text);
      expect(JSON.stringify((header?.data as EventData<'request/header'>).adapterDefaults)).toBe(text);
      expect(JSON.stringify((toolResult?.data as EventData<'tool/result'>).meta)).toBe(text);
      const { header: folded } = await session.state();
      expect(JSON.stringify(folded?.adapterDefaults)).toBe(text);
    });

    it('is the same text after a new start as it was when it was appended', async () => {
      const session = await fixture.session();
      const [returned] = await session.append({
        type: 'assistant/message',
        turn: 1,
        step: 1,
        surface: 'append',
        data: {
          timing: { requestedAt: '2026-01-01T00:00:00.000Z', endedAt: '2026-01-01T00:00:00.000Z' },
          model: 'm',
          provider: 'p',
          usage: { outputTokens: 1, inputTokens: 2 } as never,
          finish: 'stop',
          content: [{ text: 'x', type: 'text' }],
          attempt: 1,
          messageId: 'm' as MessageId,
        },
      });
      await fixture.reopen();
      expect(JSON.stringify((await lastEvent(session)).data)).toBe(JSON.stringify(returned?.data));
    });
  });

  describe('large content', () => {
    const fixture = useStore(open);
    const large = `${'a'.repeat(1024)}${SMILE.repeat(LARGE / 4)}${'z'.repeat(1024)}`;
    const blob = {
      type: 'blob',
      bytes: new TextEncoder().encode(large).byteLength,
      head: 'a'.repeat(1024),
      tail: 'z'.repeat(1024),
    };
    const text = { type: 'text', text: large } as const;

    it('of a prompt is moved, and stays moved in the message that shows it', async () => {
      const session = await fixture.session();
      await session.prompt('queue', { content: [{ type: 'text', text: 'See:' }, text] });
      const { inbox } = await session.state();
      expect(inbox.nextTurn[0]?.content).toMatchObject([
        { type: 'text', text: 'See:' },
        { ...blob, mediaType: 'text/plain; charset=utf-8' },
      ]);
      await session.enter();
      await fixture.reopen();
      const shown = (await session.events()).find(({ type }) => type === 'user/message');
      const [, moved] = (shown?.data as EventData<'user/message'>).content;
      expect(await wholeOf(session, moved)).toBe(large);
    });

    it('of a model and of a tool is moved, raw arguments too', async () => {
      const session = await fixture.session();
      await session.prompt();
      await session.enter();
      const raw = JSON.stringify({ content: large });
      const callId = 'c' as CallId;
      const call = { type: 'tool-call', callId, name: 'write', arguments: raw } as const;
      const approvalId = 'a' as ApprovalId;
      await session.message(0, { content: [text, call, { type: 'text', text: 'short' }] });
      await session.append(
        {
          type: 'approval/asked',
          data: {
            approvalId,
            callId,
            tool: 'write',
            arguments: raw,
            argumentsSha256: SOME_SHA256,
            reason: 'It writes.',
          },
        },
        {
          type: 'tool/call',
          data: { callId, index: 0, name: 'write', arguments: raw, effect: 'effect', mode: 'exclusive' },
        },
        result(large),
      );
      await fixture.reopen();
      const [message, asked, called, answered] = (await session.events()).slice(-4).map(({ data }) => data);
      const { content } = message as EventData<'assistant/message'>;
      expect(content).toMatchObject([blob, { callId, arguments: { type: 'blob' } }, { text: 'short' }]);
      expect(await wholeOf(session, content[0])).toBe(large);
      const moved = content[1]?.type === 'tool-call' ? content[1].arguments : '';
      for (const value of [
        moved,
        (asked as EventData<'approval/asked'>).arguments,
        (called as EventData<'tool/call'>).arguments,
      ]) {
        expect(value).toMatchObject({ mediaType: 'application/json' });
        expect(await wholeOf(session, value)).toBe(raw);
      }
      expect(await wholeOf(session, (answered as EventData<'tool/result'>).content[0])).toBe(large);
    });

    it('of a turn as its output is moved, in the log and in the record of the turn', async () => {
      const session = await fixture.session();
      await session.prompt();
      await session.enter();
      const usage = (await session.state()).usage;
      await session.append(
        { type: 'step/end', turn: 1, step: 1, data: { next: 'end' } },
        {
          type: 'turn/end',
          turn: 1,
          data: { reason: { kind: 'completed' }, output: large, usage, steps: 1 },
        },
      );
      const { data } = await lastEvent(session);
      expect(await wholeOf(session, (data as EventData<'turn/end'>).output)).toBe(large);
      const record = await fixture.store.findTurn(session.uid, 1);
      expect(await wholeOf(session, record?.output)).toBe(large);
    });

    it('moves only above the limit, which counts bytes and not characters', async () => {
      const session = await fixture.session();
      const kinds = async (value: string) => {
        await session.append(result(value));
        return ((await lastEvent(session)).data as EventData<'tool/result'>).content[0]?.type;
      };
      expect(await kinds('x'.repeat(MAX_INLINE_BYTES))).toBe('text');
      expect(await kinds('x'.repeat(MAX_INLINE_BYTES + 1))).toBe('blob');
      expect(await kinds('\u20ac'.repeat(Math.floor(MAX_INLINE_BYTES / 3)))).toBe('text');
      expect(await kinds('\u20ac'.repeat(Math.ceil(MAX_INLINE_BYTES / 3)))).toBe('blob');
    });

    it('is kept once for the same bytes, and apart for each session', async () => {
      const [one, two] = [await fixture.session(), await fixture.session()];
      const bytes = new Uint8Array([0, 255, 128, 10]);
      const sha256 = await fixture.store.saveBlob(one.uid, bytes, 'image/png');
      expect(await fixture.store.saveBlob(one.uid, bytes, 'image/png')).toBe(sha256);
      const inside = await one.transact((transaction) => transaction.saveBlob(bytes, 'image/png'));
      expect(inside).toBe(sha256);
      const back = await fixture.store.readBlob(one.uid, sha256);
      expect([...(back?.bytes ?? [])]).toEqual([...bytes]);
      expect(back?.mediaType).toBe('image/png');
      expect(await one.transact((transaction) => transaction.readBlob(sha256))).toEqual(back);
      expect(await fixture.store.readBlob(two.uid, sha256)).toBeUndefined();
    });

    it('is not taken for a session that is gone', async () => {
      const session = await fixture.session();
      await fixture.store.deleteSession(session.uid);
      await expectCode(
        fixture.store.saveBlob(session.uid, new Uint8Array([1]), 'image/png'),
        'SESSION_NOT_FOUND',
      );
    });
  });
}
