import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import type { FollowItem } from '../../src/client/follow.js';
import { createTranscript, foldTranscript } from '../../src/client/render.js';
import type { SessionEvent } from '../../src/contract/events.js';
import { makeHome, type HomeFolder } from '../support/home-folder.js';
import { checkLog } from '../support/log-invariants.js';
import { ScriptedModelServer, type Script } from '../support/scripted-model-server.js';
import { enginePid, freePort, startServe, type ServeProcess } from '../support/serve-process.js';

const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

interface Installation extends HomeFolder {
  readonly model: ScriptedModelServer;
  /** Starts the server under the address that it always has. */
  serve(): Promise<ServeProcess>;
}

async function install(script: Script): Promise<Installation> {
  const model = await ScriptedModelServer.start({ script });
  ends.push(() => model.close());
  const home = makeHome(model.url);
  ends.push(() => {
    home.remove();
  });
  const port = await freePort();
  return {
    ...home,
    model,
    serve: async () => {
      const serve = await startServe({ home: home.home, port });
      ends.push(() => serve.end('SIGTERM'));
      return serve;
    },
  };
}

async function session(serve: ServeProcess, { workspace }: HomeFolder): Promise<string> {
  const { id } = await serve.client.createSession({ workspace });
  return id;
}

async function eventsOf(serve: ServeProcess, id: string): Promise<SessionEvent[]> {
  const { items } = await serve.client.events(id, { limit: 1000 });
  return [...items];
}

/** Follows the session to the end of its turn and says what a person was shown, item by item. */
async function follow(serve: ServeProcess, id: string, onItem: (item: FollowItem) => void = () => undefined) {
  const items: FollowItem[] = [];
  for await (const item of serve.client.follow(id, { until: 'turn-end' })) {
    items.push(item);
    onItem(item);
  }
  return items;
}

const until = (check: () => boolean | Promise<boolean>) =>
  new Promise<void>((resolve, reject) => {
    const poll = async () => {
      if (await check()) resolve();
      else setTimeout(() => void poll().catch(reject), 20);
    };
    poll().catch(reject);
  });

describe('after kill -9 of the server', () => {
  it('a streaming turn goes on, and a follower that stayed is shown the text once', async () => {
    const installation = await install(({ number }) =>
      number === 1
        ? { text: 'One two three four five six seven eight nine ten', pieces: 10, delayMs: 100 }
        : { text: 'One and done.' },
    );
    const first = await installation.serve();
    const id = await session(first, installation);
    await first.client.prompt(id, { text: 'go' });
    let frames = 0;
    const following = follow(first, id, (item) => (frames += item.type === 'frame' ? 1 : 0));
    await until(() => frames >= 3);
    await first.end('SIGKILL');
    const second = await installation.serve();
    const items = await following;
    const events = await eventsOf(second, id);
    expect(checkLog(events)).toEqual([]);
    expect(items.flatMap((item) => (item.type === 'event' ? [item.event.seq] : []))).toEqual(
      events.map(({ seq }) => seq),
    );
    const shown = items.reduce(foldTranscript, createTranscript()).entries;
    const texts = shown.flatMap((entry) =>
      entry.kind === 'assistant' ? entry.blocks.map(({ text }) => text) : [],
    );
    expect(texts).toEqual(['One and done.']);
    expect(items.at(-1)).toMatchObject({ type: 'end', turn: { output: 'One and done.' } });
    expect(installation.model.refusals).toEqual([]);
  });

  it('a running command is ended and reported as unknown, and not run again', async () => {
    const seconds = `31.${String(process.pid)}`;
    const installation = await install([
      { calls: [{ name: 'bash', arguments: { command: `echo once >> effects.txt; sleep ${seconds}` } }] },
      { text: 'I have seen it.' },
    ]);
    const first = await installation.serve();
    const id = await session(first, installation);
    await first.client.prompt(id, { text: 'go' });
    const effects = join(installation.workspace, 'effects.txt');
    await until(() => fileText(effects) !== '');
    await first.end('SIGKILL');
    const second = await installation.serve();
    const turn = await second.client.turn(id, 1, { waitSeconds: 60 });
    expect(turn).toMatchObject({ reason: { kind: 'completed' }, output: 'I have seen it.' });
    const events = await eventsOf(second, id);
    expect(checkLog(events)).toEqual([]);
    expect(events.flatMap((event) => (event.type === 'tool/result' ? [event.data.error?.code] : []))).toEqual(
      ['TOOL_OUTCOME_UNKNOWN'],
    );
    expect(fileText(effects)).toBe('once\n');
    expect(processesWith(`sleep ${seconds}`)).toEqual([]);
    expect(installation.model.refusals).toEqual([]);
  });

  it('a prompt that was accepted an instant before is answered', async () => {
    const installation = await install(() => ({ text: 'Here.' }));
    const first = await installation.serve();
    const id = await session(first, installation);
    await first.client.prompt(id, { text: 'go' });
    await first.end('SIGKILL');
    const second = await installation.serve();
    const turn = await second.client.turn(id, 1, { waitSeconds: 60 });
    expect(turn.output).toBe('Here.');
    expect(checkLog(await eventsOf(second, id))).toEqual([]);
  });
});

describe('after kill -9 of the engine', () => {
  it('the engine is started again, and the turn goes on', async () => {
    const installation = await install(({ number }) =>
      number < 4 ? { calls: [{ name: 'bash', arguments: { command: 'sleep 0.3' } }] } : { text: 'Through.' },
    );
    const serve = await installation.serve();
    const id = await session(serve, installation);
    await serve.client.prompt(id, { text: 'go' });
    await installation.model.request(2);
    process.kill(enginePid(installation.home), 'SIGKILL');
    const turn = await serve.client.turn(id, 1, { waitSeconds: 90 });
    expect(turn).toMatchObject({ reason: { kind: 'completed' }, output: 'Through.' });
    const events = await eventsOf(serve, id);
    expect(checkLog(events)).toEqual([]);
    expect(events.filter(({ type }) => type === 'tool/started')).toHaveLength(3);
  });
});

describe('after SIGTERM', () => {
  it('the server ends with 0 within seconds, and the turn goes on after the next start', async () => {
    const installation = await install(({ number }) =>
      number === 1 ? { connection: 'silence' } : { text: 'Handed over.' },
    );
    const first = await installation.serve();
    const id = await session(first, installation);
    await first.client.prompt(id, { text: 'go' });
    await installation.model.request(1);
    expect(await first.end('SIGTERM')).toBe(0);
    const second = await installation.serve();
    const turn = await second.client.turn(id, 1, { waitSeconds: 60 });
    expect(turn.output).toBe('Handed over.');
    const events = await eventsOf(second, id);
    expect(checkLog(events)).toEqual([]);
    expect(
      events.flatMap((event) => (event.type === 'assistant/attempt' ? [event.data.outcome] : [])),
    ).toEqual(['lost']);
  });
});

function fileText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    // Not written yet.
    return '';
  }
}

function processesWith(text: string): string[] {
  return execFileSync('ps', ['-eo', 'args'], { encoding: 'utf8' })
    .split('\n')
    .filter((line) => line.includes(text));
}
