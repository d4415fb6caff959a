/** `run` against the real API, with the turn played by the test. */
import { afterEach, describe, expect, it } from 'vitest';
import { createClient } from '../../../src/client/client.js';
import { run, type RunOptions } from '../../../src/cli/commands/run.js';
import type { Connection } from '../../../src/cli/connect.js';
import { eventKeys } from '../../../src/contract/event-keys.js';
import type { SessionEvent } from '../../../src/contract/events.js';
import type { TurnEndReason } from '../../../src/contract/turn-end.js';
import { newSession, startApi, type ApiServer, type Nudge } from '../../api/api-server.js';
import { TurnDriver } from '../../api/turn-driver.js';
import { fakeIo, type FakeIo } from './fake-io.js';

let api: ApiServer;
afterEach(() => api.stop());

/** Starts an API on which `play` takes every turn that is started, and ends it where it is cancelled. */
const start = async (play: (driver: TurnDriver) => Promise<unknown>) => {
  const drivers = new Map<string, TurnDriver>();
  const onNudge = ({ kind, uid }: Nudge) => {
    const driver = drivers.get(uid) ?? new TurnDriver(api.store, uid);
    drivers.set(uid, driver);
    const cancelled: TurnEndReason = { kind: 'aborted', cause: 'user', by: 'local' };
    void (kind === 'start' ? play(driver) : driver.end(cancelled));
  };
  api = await startApi({ onNudge });
};

const closed: string[] = [];
const connection = (name = 'first'): Connection => ({
  client: createClient({ baseUrl: api.url }),
  isLocal: true,
  isGone: () => false,
  close: async () => {
    closed.push(name);
  },
});
const runTask = (task: string | undefined, io: FakeIo, options: RunOptions = {}) =>
  run(task, options, io, async () => connection());
const io = (options: Parameters<typeof fakeIo>[0] = {}) => fakeIo({ cwd: api.workspace, ...options });

describe('run', () => {
  it('writes the answer to standard output, nothing else anywhere, and closes its connection', async () => {
    await start((driver) => driver.wholeTurn('the answer'));
    closed.length = 0;
    const process = io();
    expect(await runTask('do it', process)).toBe(0);
    expect(process.written).toEqual({ out: 'the answer\n', err: '' });
    expect(closed).toEqual(['first']);
    const { items } = await createClient({ baseUrl: api.url }).listSessions();
    expect(items[0]).toMatchObject({ workspace: api.workspace });
  });

  it('streams the answer once where a person looks', async () => {
    await start(async (driver) => {
      await driver.enter();
      await driver.attempt();
      await driver.stream('the ', 'answer');
      await driver.message('the answer');
      await driver.end({ kind: 'completed' }, 'the answer');
    });
    const process = io({ isTerminal: { out: true, err: true } });
    expect(await runTask('do it', process)).toBe(0);
    expect(process.written.out).toBe('the answer\n');
  });

  it.each([['-'], [undefined]])('reads its task from standard input: %s', async (argument) => {
    await start((driver) => driver.wholeTurn('ok'));
    expect(await runTask(argument, io({ stdin: 'from a pipe\n' }))).toBe(0);
    const [session] = (await createClient({ baseUrl: api.url }).listSessions()).items;
    const messages = await createClient({ baseUrl: api.url }).messages(session!.id);
    expect(messages.items[0]?.content).toEqual([{ type: 'text', text: 'from a pipe\n' }]);
  });

  it('refuses a blank task before it opens anything', async () => {
    await start(() => Promise.resolve());
    await expect(runTask(' ', io())).rejects.toMatchObject({ name: 'UsageError' });
    await expect(runTask('-', io({ stdin: '' }))).rejects.toMatchObject({ name: 'UsageError' });
  });

  it('writes the log events of its turn as NDJSON, and no answer beside them', async () => {
    await start((driver) => driver.wholeTurn('the answer'));
    const process = io();
    expect(await runTask('do it', process, { json: true })).toBe(0);
    const events = process.written.out
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as SessionEvent);
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, n) => n + 1));
    expect(events.map(({ type }) => type)).toContain('turn/start');
    expect(events.at(-1)?.type).toBe('turn/end');
  });

  it.each<[TurnEndReason, number, string]>([
    [{ kind: 'error', code: 'AUTH', message: 'no key' }, 1, 'no key'],
    [{ kind: 'blocked', hook: 'guard', note: 'not this' }, 3, 'not this'],
    [{ kind: 'limit', which: 'steps', value: 2 }, 4, 'steps'],
    [{ kind: 'max-tokens' }, 4, 'token limit'],
  ])('says how its turn ended: %j', async (reason, code, word) => {
    await start(async (driver) => {
      await driver.enter();
      await driver.end(reason, 'so far');
    });
    const process = io();
    expect(await runTask('do it', process)).toBe(code);
    expect(process.written.err).toContain(word);
    expect(process.written.out).toBe(code === 4 ? 'so far\n' : '');
  });

  it('says that a call needed an approval which nobody could give', async () => {
    await start(async (driver) => {
      const turn = await driver.enter();
      await driver.attempt();
      await driver.message('', ['bash']);
      await driver.startCall(0, 'bash');
      await driver.append([
        {
          type: 'tool/result',
          key: eventKeys.toolResult(turn, 1, 0),
          turn,
          step: 1,
          surface: 'append',
          data: {
            callId: driver.callId(0),
            content: [],
            isError: true,
            error: { name: 'Error', code: 'APPROVAL_UNAVAILABLE' },
            durationMs: 0,
          },
        },
      ]);
      await driver.end({ kind: 'completed' }, 'I could not.');
    });
    const process = io();
    expect(await runTask('do it', process)).toBe(5);
    expect(process.written.out).toBe('I could not.\n');
    expect(process.written.err).toContain('full-access');
  });

  it('cancels its turn when it is interrupted, waits for its end and exits 130; a second time at once', async () => {
    await start((driver) => driver.enter());
    const process = io();
    const running = runTask('do it', process, { json: true });
    await process.wrote('turn/start');
    process.interrupt();
    process.interrupt();
    expect(process.forced).toEqual([130]);
    expect(await running).toBe(130);
    expect(process.written.out).toContain('turn/cancel-requested');
    expect(process.written.out).toContain('turn/end');
  });

  it('cancels its turn when its time is over, and exits 4', async () => {
    await start((driver) => driver.enter());
    const process = io();
    expect(await runTask('do it', process, { timeout: 0.3, json: true })).toBe(4);
    expect(process.written.out).toContain('--timeout');
  });

  it('waits for its own turn behind those that run, and shows that one only as its answer', async () => {
    await start((driver) => driver.enter());
    const session = await newSession(api, { id: 's' });
    const client = createClient({ baseUrl: api.url });
    await client.prompt(session.id, { text: 'before' });
    const driver = new TurnDriver(api.store, await api.uidOf('s'));
    await driver.enter();
    const process = io();
    const running = runTask('mine', process, { session: 's', json: true });
    await process.wrote('mine');
    await driver.attempt();
    await driver.message('before');
    await driver.end({ kind: 'completed' }, 'before');
    await driver.wholeTurn('mine!');
    expect(await running).toBe(0);
    expect(process.written.out.trimEnd().split('\n').at(-1)).toContain('"output":"mine!"');
  });

  it('leaves its prompt in the queue where it is interrupted before its turn', async () => {
    await start((driver) => driver.enter());
    await newSession(api, { id: 's' });
    await createClient({ baseUrl: api.url }).prompt('s', { text: 'before' });
    const process = io();
    const running = runTask('mine', process, { session: 's', json: true });
    await process.wrote('mine');
    process.interrupt();
    expect(await running).toBe(130);
    expect(process.written.err).toContain('queue');
    expect(api.nudges.filter(({ kind }) => kind === 'cancel')).toEqual([]);
  });

  it('goes on with a session, changes what was asked for, and refuses another folder', async () => {
    await start((driver) => driver.wholeTurn('ok'));
    await newSession(api, { id: 's', workspace: api.workspace });
    expect(
      await runTask('again', io(), { session: 's', permission: 'read-only', maxSteps: 3, cwd: '.' }),
    ).toBe(0);
    expect(await createClient({ baseUrl: api.url }).session('s')).toMatchObject({
      permission: 'read-only',
      limits: { steps: 3 },
    });
    await expect(runTask('again', io(), { session: 's', cwd: '/tmp' })).rejects.toMatchObject({
      name: 'UsageError',
    });
  });

  it('makes a session of the id that it is given', async () => {
    await start((driver) => driver.wholeTurn('ok'));
    expect(await runTask('do it', io(), { session: 'new', permission: 'full-access' })).toBe(0);
    expect(await createClient({ baseUrl: api.url }).session('new')).toMatchObject({
      permission: 'full-access',
    });
  });

  it('goes on over another server where its own has ended', async () => {
    await start((driver) => driver.enter());
    const opened: Connection[] = [];
    let isGone = false;
    const broken = new AbortController();
    const open = async (): Promise<Connection> => {
      const first = opened.length === 0;
      const next: Connection = first
        ? {
            ...connection('first'),
            client: createClient({
              baseUrl: api.url,
              fetch: (input, init) => {
                if (isGone) return Promise.reject(new TypeError('refused'));
                const signals = [broken.signal, ...(init?.signal == null ? [] : [init.signal])];
                return fetch(input, { ...init, signal: AbortSignal.any(signals) });
              },
            }),
            isGone: () => isGone,
          }
        : connection('second');
      opened.push(next);
      return next;
    };
    closed.length = 0;
    const process = io();
    const running = run('do it', { session: 's', json: true }, process, open);
    await process.wrote('step/start');
    isGone = true;
    broken.abort();
    const driver = new TurnDriver(api.store, await api.uidOf('s'));
    await driver.append([
      {
        type: 'turn/end',
        key: eventKeys.turnEnd(1),
        turn: 1,
        data: {
          reason: { kind: 'completed' },
          output: 'done',
          usage: (await api.store.readState(await api.uidOf('s'))).usage,
          steps: 1,
        },
      },
    ]);
    expect(await running).toBe(0);
    expect(closed).toEqual(['first', 'second']);
    const seqs = process.written.out
      .trimEnd()
      .split('\n')
      .map((line) => (JSON.parse(line) as SessionEvent).seq);
    expect(seqs).toEqual(seqs.map((_, n) => n + 1));
  });
});
