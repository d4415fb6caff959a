import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
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

/** Longer than any test: what goes on did not wait until the engine missed a heartbeat. */
const LONG_LEASE = { engine: { heartbeatMs: 600_000 } };

interface Installation extends HomeFolder {
  readonly model: ScriptedModelServer;
  /** Starts the server under the address that it always has. */
  serve(): Promise<ServeProcess>;
}

async function install(
  script: Script,
  configuration: Readonly<Record<string, unknown>> = {},
): Promise<Installation> {
  const model = await ScriptedModelServer.start({ script });
  ends.push(() => model.close());
  const home = makeHome(model.url, configuration);
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
    const installation = await install(
      ({ number }) =>
        number === 1
          ? { text: 'One two three four five six seven eight nine ten', pieces: 10, delayMs: 100 }
          : { text: 'One and done.' },
      LONG_LEASE,
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
    const installation = await install(
      [
        { calls: [{ name: 'bash', arguments: { command: `echo once >> effects.txt; sleep ${seconds}` } }] },
        { text: 'I have seen it.' },
      ],
      LONG_LEASE,
    );
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
  it('the server hands over what runs within 5 s and ends with 0, and all goes on after the next start', async () => {
    const seconds = `32.${String(process.pid)}`;
    const installation = await install(handedOver(seconds), {
      profiles: {
        default: { provider: 'scripted', model: 'scripted-model', permission: 'full-access' },
        asking: { extends: 'default', permission: 'workspace-write', sandbox: 'off' },
      },
    });
    const first = await installation.serve();
    const prompt = async (text: string, profile = 'default') => {
      const { id } = await first.client.createSession({ workspace: installation.workspace, profile });
      await first.client.prompt(id, { text: `do: ${text}` });
      return id;
    };
    const stream = await prompt('stream');
    const command = await prompt('command');
    const retry = await prompt('retry');
    const asked = await prompt('asked', 'asking');
    const has = async (id: string, type: SessionEvent['type']) =>
      (await eventsOf(first, id)).some((event) => event.type === type);
    await until(() => processesWith(`sleep ${seconds}`).length > 0);
    await until(() => has(retry, 'llm/retry'));
    await until(() => has(asked, 'approval/asked'));
    await until(async () => (await first.client.session(stream)).status === 'running');

    const told = performance.now();
    expect(await first.end('SIGTERM')).toBe(0);
    expect(performance.now() - told).toBeLessThan(5000);
    expect(processesWith(`sleep ${seconds}`)).toEqual([]);

    const second = await installation.serve();
    const [approval] = (await second.client.approvals({ session: asked })).items;
    await second.client.decideApproval(approval?.approvalId ?? '', { outcome: 'allow' });
    for (const id of [stream, command, retry, asked]) {
      expect(await second.client.turn(id, 1, { waitSeconds: 60 })).toMatchObject({ output: 'Handed over.' });
      expect(checkLog(await eventsOf(second, id))).toEqual([]);
    }
    expect(
      (await eventsOf(second, stream)).flatMap((event) =>
        event.type === 'assistant/attempt' ? [event.data.outcome] : [],
      ),
    ).toEqual(['lost']);
  });

  it('a second signal ends it at once with 130, also where its engine does not answer', async () => {
    const installation = await install([]);
    const serve = await installation.serve();
    const engine = enginePid(installation.home);
    process.kill(engine, 'SIGSTOP');
    try {
      const ended = serve.end('SIGTERM');
      await until(() => serve.output().includes('Stopping'));
      void serve.end('SIGTERM');
      expect(await ended).toBe(130);
    } finally {
      process.kill(engine, 'SIGKILL');
    }
  });
});

/** By what the session was prompted with; each answers so that the server must be stopped in the middle of something. */
function handedOver(seconds: string): Script {
  const seen = new Set<string>();
  return ({ raw }) => {
    const what = ['stream', 'command', 'retry', 'asked'].find((word) => raw.includes(`do: ${word}`)) ?? '';
    if (seen.has(what)) return { text: 'Handed over.' };
    seen.add(what);
    if (what === 'stream') return { text: 'One two three', accident: { afterEvents: 2, what: 'silence' } };
    if (what === 'retry') return { status: 429, headers: { 'retry-after': '3' }, body: {} };
    const run = what === 'command' ? `sleep ${seconds}` : 'echo allowed';
    return { calls: [{ name: 'bash', arguments: { command: run } }] };
  };
}

describe('a server that was frozen for longer than its lease', () => {
  it('writes nothing more for what it had given up, says so, and does it anew', async () => {
    const seconds = `33.${String(process.pid)}`;
    const effect = `echo once >> effects.txt; sleep ${seconds}`;
    let streams = 0;
    const installation = await install(
      ({ raw }) => {
        if (raw.includes('do: command')) {
          return raw.includes('"role":"tool"')
            ? { text: 'I have seen it.' }
            : { calls: [{ name: 'bash', arguments: { command: effect } }] };
        }
        return (streams += 1) === 1
          ? { text: 'word '.repeat(200), pieces: 200, delayMs: 100 }
          : { text: 'Said once.' };
      },
      { engine: { heartbeatMs: 1000 } },
    );
    const serve = await installation.serve();
    const command = await session(serve, installation);
    await serve.client.prompt(command, { text: 'do: command' });
    const stream = await session(serve, installation);
    await serve.client.prompt(stream, { text: 'do: stream' });
    let frames = 0;
    const following = follow(serve, stream, (item) => (frames += item.type === 'frame' ? 1 : 0));
    const effects = join(installation.workspace, 'effects.txt');
    await until(() => frames >= 3 && fileText(effects) !== '');
    const { engine } = await serve.client.readiness();

    process.kill(serve.pid, 'SIGSTOP');
    try {
      await until(async () => (await silentActivities(engine.address)) === 2);
    } finally {
      process.kill(serve.pid, 'SIGCONT');
    }

    const shown = (await following).reduce(foldTranscript, createTranscript()).entries;
    const texts = shown.flatMap((entry) =>
      entry.kind === 'assistant' ? entry.blocks.map(({ text }) => text) : [],
    );
    expect(texts).toEqual(['Said once.']);
    const turn = await serve.client.turn(command, 1, { waitSeconds: 60 });
    expect(turn).toMatchObject({ output: 'I have seen it.' });
    const events = await eventsOf(serve, command);
    expect(events.flatMap((event) => (event.type === 'tool/result' ? [event.data.error?.code] : []))).toEqual(
      ['TOOL_OUTCOME_UNKNOWN'],
    );
    expect(fileText(effects)).toBe('once\n');
    expect(processesWith(`sleep ${seconds}`)).toEqual([]);
    for (const id of [command, stream]) expect(checkLog(await eventsOf(serve, id))).toEqual([]);
    await until(() => givenUp(serve.output()).length === 2);
    expect(serve.output()).not.toContain('failed unexpectedly');
  });
});

/** The lines of the server's log that say that an attempt was given up. */
function givenUp(output: string): string[] {
  return output.split('\n').filter((line) => line.includes('an attempt was given up and wrote nothing more'));
}

/** How many activities the engine has given up because their worker was silent. */
async function silentActivities(address: string): Promise<number> {
  const connection = await Connection.connect({ address });
  try {
    const { workflow } = new Client({ connection });
    let silent = 0;
    for await (const { workflowId } of workflow.list({ query: 'ExecutionStatus = "Running"' })) {
      const { raw } = await workflow.getHandle(workflowId).describe();
      silent += (raw.pendingActivities ?? []).filter(({ lastFailure }) => lastFailure != null).length;
    }
    return silent;
  } finally {
    await connection.close();
  }
}

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
