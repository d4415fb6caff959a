/** What a reader holds after any number of reconnects, at any id, is the same: no repeat and no hole. */
import { afterEach, describe, expect, it } from 'vitest';
import type { AppDeps } from '../../src/api/app-deps.js';
import { createTranscript, foldTranscript } from '../../src/client/render.js';
import type { Frame } from '../../src/contract/chunks.js';
import type { SessionEvent } from '../../src/contract/events.js';
import { call, newSession, startApi, type ApiServer } from './api-server.js';
import { StreamReader, type StreamMessage } from './stream-reader.js';
import { TurnDriver } from './turn-driver.js';

let api: ApiServer;
afterEach(() => api.stop());

const session = async (settings: Partial<AppDeps['settings']> = {}) => {
  api = await startApi({ settings });
  await newSession(api, { id: 's' });
  return {
    url: `${api.url}/v1/sessions/s/events`,
    driver: new TurnDriver(api.store, await api.uidOf('s')),
    prompt: (text: string) => call(`${api.url}/v1/sessions/s/prompts`, 'POST', { text }),
  };
};

/** What a reader shows that got these items. */
function shown(items: readonly StreamMessage[]): string {
  let transcript = createTranscript();
  for (const { event, id = '', data } of items) {
    transcript = foldTranscript(
      transcript,
      event === 'event'
        ? { type: 'event', id, event: data as SessionEvent }
        : { type: 'frame', id, frame: data as Frame },
    );
  }
  // How often a call was tried, and how many chunks have come, is no part of what is shown.
  const hidden = new Set(['attempt', 'chunks']);
  return JSON.stringify(transcript.entries, (key, value: unknown) => (hidden.has(key) ? undefined : value));
}

describe('a reader that comes back', () => {
  it('at any id of a live stream gets exactly what came after it', async () => {
    const { url, driver, prompt } = await session();
    const live = await StreamReader.open(url);
    let checks = 0;
    const expectSame = async () => {
      const uid = await api.uidOf('s');
      const { headSeq, headFrame } = await api.store.readTail(uid, { seq: -1, frame: 0, limit: 1000 });
      await live.until(
        ({ events, frames }) =>
          events.at(-1)?.seq === headSeq && (headFrame === 0 || frames.at(-1)?.frame === headFrame),
      );
      const items = [...live.items];
      for (const [index, item] of items.entries()) {
        const again = await StreamReader.open(url, { 'last-event-id': item.id! });
        const after = items.slice(index + 1);
        const settled = new Set(settledFrames(items));
        const wanted = after.filter(
          ({ event, data }) => event === 'event' || !settled.has((data as Frame).frame),
        );
        await again.until((reader) => reader.items.length >= wanted.length);
        again.close();
        checks += 1;
        // Frames may come later beside the events than they did live, never earlier than the events before them.
        for (const kind of ['event', 'frame']) {
          const of = (messages: readonly StreamMessage[]) =>
            messages.filter(({ event }) => event === kind).map(({ data }) => data);
          expect(of(again.items), `${kind}s after ${item.id!}`).toEqual(of(wanted));
        }
        expect(shown([...items.slice(0, index + 1), ...again.items])).toBe(shown(items));
      }
    };

    await prompt('a');
    await driver.enter();
    await driver.attempt();
    await driver.stream('Wro', 'ng');
    await expectSame();
    await driver.fail();
    await driver.attempt();
    await driver.stream('Ri', 'ght');
    await expectSame();
    await driver.message('Right', ['read', 'read']);
    await driver.startCall(0, 'read');
    await driver.startCall(1, 'read');
    await driver.output(0, 0, 'a');
    await driver.output(1, 0, 'b');
    await driver.result(0, 'a');
    await driver.output(1, 1, 'c');
    await expectSame();
    await driver.result(1, 'bc');
    await driver.nextStep();
    await driver.attempt();
    await driver.stream('Done');
    await expectSame();
    await driver.message('Done');
    await driver.end();
    await expectSame();
    live.close();
    expect(checks).toBeGreaterThan(40);
  });

  const comeLate = async (wrongFrames: number) => {
    const { url, driver, prompt } = await session({ pingIntervalMs: 2000 });
    await prompt('a');
    await driver.enter();
    await driver.attempt();
    await driver.stream(...Array.from({ length: wrongFrames }, (_, n) => `wrong ${String(n)}`));
    await driver.fail();
    await driver.attempt();
    await driver.stream(...Array.from({ length: 450 }, (_, n) => `right ${String(n)}`));
    const reader = await StreamReader.open(url);
    await reader.until(
      ({ frames, messages }) => frames.length === 450 || messages.some(({ event }) => event === 'ping'),
    );
    reader.close();
    expect(reader.frames).toHaveLength(450);
    expect(reader.frames.every(({ attempt }) => attempt === 2)).toBe(true);
  };

  it('while a second attempt runs gets all frames of that one, page by page', () => comeLate(100));

  // readTail counts the frames of settled attempts against its limit, so that a page of them hides all that come after.
  it('while a second attempt runs gets its frames also where the first one had more than a page', () =>
    comeLate(250));

  it('again and again while events and frames are written holds all of them once and in order', async () => {
    const { url, driver, prompt } = await session();
    await prompt('a');
    const items: StreamMessage[] = [];
    let isOver = false;
    const reading = (async () => {
      for (let round = 0; !isOver; round += 1) {
        const last = items.at(-1)?.id;
        const reader = await StreamReader.open(url, last === undefined ? {} : { 'last-event-id': last });
        const wanted = 1 + (round % 7);
        await reader.until(
          (current) =>
            current.items.length >= wanted || current.events.some(({ type }) => type === 'turn/end'),
        );
        items.push(...reader.items);
        reader.close();
        isOver = reader.events.some(({ type }) => type === 'turn/end');
      }
    })();

    await driver.enter();
    for (let step = 0; step < 8; step += 1) {
      await driver.attempt();
      await driver.stream('lost', 'text');
      await driver.fail();
      await driver.attempt();
      await driver.stream('k', 'e', 'p', 't');
      await driver.message('kept', ['read']);
      await driver.startCall(0, 'read');
      await driver.output(0, 0, 'out');
      await driver.result(0, 'out');
      await driver.nextStep();
    }
    await driver.attempt();
    await driver.message('end');
    await driver.end();
    await reading;

    const events = items
      .filter(({ event }) => event === 'event')
      .map(({ data }) => (data as SessionEvent).seq);
    const uid = await api.uidOf('s');
    const log = await api.store.readEvents(uid, { limit: 1000 });
    expect(events).toEqual(log.map(({ seq }) => seq));
    const frames = items.filter(({ event }) => event === 'frame').map(({ data }) => (data as Frame).frame);
    expect(frames).toEqual([...new Set(frames)].sort((a, b) => a - b));
    expect(shown(items)).toBe(shown(log.map((data) => ({ event: 'event', data }))));
  });
});

/** The frames of attempts that have settled by the last item. */
function settledFrames(items: readonly StreamMessage[]): number[] {
  const frames = items.filter(({ event }) => event === 'frame').map(({ data }) => data as Frame);
  const events = items.filter(({ event }) => event === 'event').map(({ data }) => data as SessionEvent);
  const isSettled = (frame: Frame) =>
    events.some((event) => {
      if (event.turn !== frame.turn || event.step !== frame.step) return false;
      if (event.type === 'step/end') return true;
      if (frame.call === undefined) {
        return (
          event.type === 'assistant/message' ||
          (event.type === 'assistant/attempt' && event.data.attempt >= frame.attempt)
        );
      }
      return event.type === 'tool/result' && event.data.callId.endsWith(`-${String(frame.call)}`);
    });
  return frames.filter(isSettled).map(({ frame }) => frame);
}
