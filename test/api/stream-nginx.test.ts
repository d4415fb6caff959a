/** The stream behind a real nginx as it comes, read by curl, by the client and by a real browser. */
import { spawn, type ChildProcess } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createParser } from 'eventsource-parser';
import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createClient } from '../../src/client/client.js';
import type { FollowItem } from '../../src/client/follow.js';
import type { Frame } from '../../src/contract/chunks.js';
import type { SessionEvent } from '../../src/contract/events.js';
import { launchBrowser } from '../support/chromium.js';
import { debianProgram, type RunnableProgram } from '../support/debian-program.js';
import { findNginx, Nginx } from '../support/nginx.js';
import { FollowedSession, range } from './followed-session.js';
import type { StreamMessage } from './stream-reader.js';

/** The first run on a machine may have to fetch them. */
const FETCH_TIMEOUT_MS = 300_000;
const FOLLOW_PATH = '/v1/sessions/s/events';

let nginxProgram: RunnableProgram;
let curl: RunnableProgram;
let browser: Browser;
beforeAll(async () => {
  nginxProgram = await findNginx();
  curl = await debianProgram({ names: ['curl'], package: 'curl', file: 'usr/bin/curl' });
  browser = await launchBrowser();
}, FETCH_TIMEOUT_MS);
afterAll(() => browser.close());

let session: FollowedSession;
let nginx: Nginx;
const children: ChildProcess[] = [];
beforeEach(async () => {
  session = await FollowedSession.start();
  nginx = await Nginx.start(nginxProgram, session.api.url);
});
afterEach(async () => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  await nginx.stop();
  await session.stop();
});

/** Looks again and again: what is waited for happens in other processes. */
async function eventually(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 10));
}

/** What a reader got, whoever it is. */
interface Reading {
  messages(): StreamMessage[] | Promise<StreamMessage[]>;
}

const frameTexts = (messages: readonly StreamMessage[]) =>
  messages
    .filter(({ event }) => event === 'frame')
    .map(({ data }) =>
      (data as Frame).chunks.map((chunk) => (chunk.type === 'text-delta' ? chunk.text : '')).join(''),
    );
const seqsOf = (messages: readonly StreamMessage[]) =>
  messages.filter(({ event }) => event === 'event').map(({ data }) => (data as SessionEvent).seq);

/** Says a word only when the reader has the one before: where anything on the way waits for more, this never ends. */
async function sayWordByWord(words: readonly string[], reading: Reading): Promise<void> {
  for (const word of words) {
    await session.driver.stream(word);
    await eventually(async () => frameTexts(await reading.messages()).at(-1) === word);
  }
}

async function beginTurn(): Promise<void> {
  await session.prompt('a');
  await session.driver.enter();
  await session.driver.attempt();
}

/** Every event once and in order, up to the log's end, and every word that was said, once and in order. */
async function expectWhole(messages: readonly StreamMessage[], words: readonly string[]): Promise<void> {
  expect(seqsOf(messages)).toEqual(range(0, await session.headSeq()));
  expect(frameTexts(messages)).toEqual(words);
}

class Curl implements Reading {
  readonly #messages: StreamMessage[] = [];
  readonly ended: Promise<void>;

  constructor(query: string, headers: readonly string[] = []) {
    const accept = ['accept: text/event-stream', ...headers].flatMap((header) => ['-H', header]);
    const child = spawn(curl.path, ['-sN', ...accept, `${nginx.url}${FOLLOW_PATH}${query}`], {
      env: curl.env,
    });
    children.push(child);
    const parser = createParser({
      onEvent: ({ event = '', id, data }) =>
        this.#messages.push({ event, id, data: JSON.parse(data) as unknown }),
    });
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      parser.feed(text);
    });
    this.ended = new Promise((resolve) => {
      child.once('close', () => {
        resolve();
      });
    });
  }

  messages(): StreamMessage[] {
    return this.#messages;
  }
}

describe('curl behind nginx', () => {
  it('gets each word as it is said, and the end of the stream with the turn', async () => {
    await beginTurn();
    const reading = new Curl('?until=turn-end');
    await sayWordByWord(['zä', '€', '😀'], reading);
    await session.driver.message('zä€😀');
    await session.driver.end({ kind: 'completed' }, 'zä€😀');
    await reading.ended;
    await expectWhole(reading.messages(), ['zä', '€', '😀']);
    expect(reading.messages().at(-1)).toMatchObject({ event: 'end', data: { turn: 1, output: 'zä€😀' } });
  });

  it('loses nothing where nginx is restarted, and curl comes back with the last id', async () => {
    await beginTurn();
    const first = new Curl('?until=turn-end');
    await sayWordByWord(['one', 'two'], first);
    await nginx.down();
    await first.ended;
    expect(first.messages().some(({ event }) => event === 'end')).toBe(false);
    await session.driver.stream('three');
    await nginx.up();
    const last = first.messages().findLast(({ id }) => id !== undefined)?.id ?? '';
    const second = new Curl('?until=turn-end', [`last-event-id: ${last}`]);
    await sayWordByWord(['four'], second);
    await session.driver.message('done');
    await session.driver.end();
    await second.ended;
    await expectWhole([...first.messages(), ...second.messages()], ['one', 'two', 'three', 'four']);
  });
});

describe('the client behind nginx', () => {
  it('follows a turn over restarts of nginx and of the server', async () => {
    await beginTurn();
    const client = createClient({ baseUrl: nginx.url });
    const items: FollowItem[] = [];
    const timing = { silenceMs: 5000, firstBackoffMs: 5, maxBackoffMs: 20 };
    const following = (async () => {
      for await (const item of client.follow('s', { until: 'turn-end', timing })) items.push(item);
    })();
    const reading: Reading = {
      messages: () =>
        items.map((item) =>
          item.type === 'event'
            ? { event: 'event', id: item.id, data: item.event }
            : { event: item.type, data: item.type === 'frame' ? item.frame : null },
        ),
    };
    await sayWordByWord(['one', 'two'], reading);
    await nginx.down();
    await session.driver.stream('three');
    await nginx.up();
    await sayWordByWord(['four'], reading);
    const listenAgain = await session.api.shutDown();
    await session.driver.stream('five');
    await listenAgain();
    await sayWordByWord(['six'], reading);
    await session.driver.message('done');
    await session.driver.end();
    await following;
    await expectWhole(await reading.messages(), ['one', 'two', 'three', 'four', 'five', 'six']);
  });
});

/** A page of the server's own origin, with what it was sent in `window.seen`. */
class BrowserPage implements Reading {
  private constructor(private readonly page: Page) {}

  /** Runs the script, which has `seen(event, id, data)` to note what comes. */
  static async open(script: string): Promise<BrowserPage> {
    const page = await browser.newPage();
    await page.goto(`${nginx.url}/healthz`);
    await page.evaluate(
      `window.all = [];
      window.seen = (event, id, data) => window.all.push({ event, id, data });
      window.made = 0;
      window.EventSource = class extends EventSource {
        constructor(url) {
          super(url);
          window.made += 1;
        }
      };
      ${script}`,
    );
    return new BrowserPage(page);
  }

  messages(): Promise<StreamMessage[]> {
    return this.page.evaluate('window.all');
  }

  /** How many the page has made so far. */
  eventSources(): Promise<number> {
    return this.page.evaluate('window.made');
  }

  close(): Promise<void> {
    return this.page.close();
  }
}

describe('an EventSource of a browser behind nginx', () => {
  it('gets each word as it is said, and comes back by itself when nginx was restarted', async () => {
    await beginTurn();
    const page = await BrowserPage.open(`
      const source = new EventSource('${FOLLOW_PATH}');
      for (const type of ['event', 'frame', 'state']) {
        source.addEventListener(type, ({ lastEventId, data }) => seen(type, lastEventId, JSON.parse(data)));
      }
    `);
    await sayWordByWord(['zä', '€', '😀'], page);
    await nginx.down();
    await session.driver.stream('meanwhile');
    await nginx.up();
    await sayWordByWord(['again'], page);
    await session.driver.message('done');
    await session.driver.end();
    const head = await session.headSeq();
    await eventually(async () => seqsOf(await page.messages()).at(-1) === head);
    await expectWhole(await page.messages(), ['zä', '€', '😀', 'meanwhile', 'again']);
    await page.close();
  });

  it('with the page code of the documentation goes on over a restart of the server, and ends with the turn', async () => {
    const code = /```js\n(\/\*\* Calls[^]*?)```/.exec(
      readFileSync(new URL('../../docs/stream.md', import.meta.url), 'utf8'),
    )?.[1];
    expect(code).toBeDefined();
    await beginTurn();
    const page = await BrowserPage.open(
      `${code ?? ''} followSession('${FOLLOW_PATH}?until=turn-end&turn=1', (type, data) => seen(type, '', data));`,
    );
    await sayWordByWord(['one', 'two'], page);
    // While the server is away nginx answers 502, after which an EventSource does not come back by itself.
    const listenAgain = await session.api.shutDown();
    await session.driver.stream('three');
    await eventually(async () => (await page.eventSources()) > 1);
    await listenAgain();
    await sayWordByWord(['four'], page);
    await session.driver.message('done');
    await session.driver.end({ kind: 'completed' }, 'done');
    await eventually(async () => (await page.messages()).at(-1)?.event === 'end');
    await expectWhole(await page.messages(), ['one', 'two', 'three', 'four']);
    expect((await page.messages()).at(-1)?.data).toMatchObject({ turn: 1, output: 'done' });
    await page.close();
  });
});
