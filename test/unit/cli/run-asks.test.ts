/** What `run` does with what its turn asks: at a terminal it asks the person there, elsewhere nobody. */
import { afterEach, describe, expect, it } from 'vitest';
import { createClient } from '../../../src/client/client.js';
import { run } from '../../../src/cli/commands/run.js';
import { eventKeys } from '../../../src/contract/event-keys.js';
import type { EventOf, EventType } from '../../../src/contract/events.js';
import type { SessionUid } from '../../../src/contract/ids.js';
import { AskedTurn } from '../../api/asked-turn.js';
import { startApi, type ApiServer, type Nudge } from '../../api/api-server.js';
import { fakeIo, type FakeIo } from './fake-io.js';

let api: ApiServer;
afterEach(() => api.stop());

/** Starts an API on which `play` takes the turn up to what it asks; it ends once `asks` of them are closed. */
const start = async (asks: number, play: (turn: AskedTurn) => Promise<unknown>) => {
  const turns = new Map<SessionUid, Promise<AskedTurn>>();
  let open = asks;
  const onNudge = ({ kind, uid }: Nudge) => {
    if (kind === 'start') {
      turns.set(
        uid,
        AskedTurn.enter(api.store, uid, Math.max(1, asks)).then(async (turn) => {
          await play(turn);
          if (asks === 0) await end(turn);
          return turn;
        }),
      );
    }
    if (kind === 'decision') open -= 1;
    if ((kind === 'decision' && open === 0) || kind === 'cancel') void turns.get(uid)?.then(end);
  };
  api = await startApi({ onNudge });
};

const end = (turn: AskedTurn) => turn.end();

const atTerminal = (io: FakeIo = fakeIo({ cwd: api.workspace, isTerminal: TERMINAL })) => {
  const running = run('do it', { session: 's' }, io, async () => ({
    client: createClient({ baseUrl: api.url }),
    isLocal: true,
    isGone: () => false,
    close: () => Promise.resolve(),
  }));
  return { io, running };
};
const TERMINAL = { in: true, out: true, err: true };

async function logged<T extends EventType>(type: T): Promise<EventOf<T>['data'][]> {
  const events = await api.store.readEvents(await api.uidOf('s'), { limit: 99, types: [type] });
  return events.map(({ data }) => data as EventOf<T>['data']);
}
/** Resolves once the text was written `times` times. */
async function wroteTimes(io: FakeIo, text: string, times: number): Promise<void> {
  while (io.written.err.split(text).length <= times) await new Promise(setImmediate);
}

describe('an approval that a run at a terminal needs', () => {
  it.each([
    ['y', { outcome: 'allowed', scope: 'once', by: 'local' }],
    ['A', { outcome: 'allowed', scope: 'session', by: 'local' }],
  ])('is given by the key %s', async (key, decision) => {
    await start(1, (turn) => turn.ask(0));
    const { io, running } = atTerminal();
    await io.wrote('Allow?');
    expect(io.written.err).toContain('bash: Shell commands need approval.\n  run 0\n');
    io.type(key);
    expect(await running).toBe(0);
    expect(await logged('approval/decided')).toMatchObject([decision]);
    expect(io.written.err).toContain(`approval allowed by local`);
  });

  it('is refused by n, with a note where one is typed', async () => {
    await start(2, (turn) => turn.askAll(2));
    const { io, running } = atTerminal();
    await io.wrote('Allow?');
    io.type('n');
    await io.wrote('note');
    io.type('  use make clean ');
    await wroteTimes(io, 'Allow?', 2);
    io.type('n');
    await wroteTimes(io, 'note for', 2);
    io.type('');
    expect(await running).toBe(0);
    const [first, second] = await logged('approval/decided');
    expect(first).toMatchObject({ outcome: 'denied', note: 'use make clean' });
    expect(second).toMatchObject({ outcome: 'denied' });
    expect(second).not.toHaveProperty('note');
  });

  it('is asked for again where something else is typed, and nothing counts that was typed before', async () => {
    await start(1, (turn) => turn.ask(0));
    const { io, running } = atTerminal();
    io.type('y');
    io.type('y');
    await io.wrote('Allow?');
    expect(await logged('approval/decided')).toEqual([]);
    io.type('yes please');
    await wroteTimes(io, 'Allow?', 2);
    io.type('');
    await wroteTimes(io, 'Allow?', 3);
    expect(await logged('approval/decided')).toEqual([]);
    io.type('y');
    expect(await running).toBe(0);
  });

  it('may be given elsewhere meanwhile: the terminal says so and asks the next one', async () => {
    await start(2, (turn) => turn.askAll(2));
    const { io, running } = atTerminal();
    await io.wrote('Allow?');
    const client = createClient({ baseUrl: api.url });
    const [, first] = (await client.approvals()).items;
    await client.decideApproval(first!.approvalId, { outcome: 'deny', note: 'from the page' });
    await wroteTimes(io, 'Allow?', 2);
    expect(io.written.err).toContain('run 1');
    io.type('y');
    expect(await running).toBe(0);
    expect(io.written.err).toContain('approval denied by local: from the page');
    expect(await logged('approval/decided')).toMatchObject([{ outcome: 'denied' }, { outcome: 'allowed' }]);
  });

  it('waits for another one to answer where the input has ended', async () => {
    await start(1, (turn) => turn.ask(0));
    const { io, running } = atTerminal();
    await io.wrote('Allow?');
    io.hangUp();
    await io.wrote('turnkeeper approvals allow');
    const client = createClient({ baseUrl: api.url });
    const [open] = (await client.approvals()).items;
    await client.decideApproval(open!.approvalId, { outcome: 'allow' });
    expect(await running).toBe(0);
  });

  it('is taken back when the run is interrupted', async () => {
    await start(1, (turn) => turn.ask(0));
    const { io, running } = atTerminal();
    await io.wrote('Allow?');
    io.interrupt();
    expect(await running).toBe(130);
    expect(io.written.err).toContain('approval withdrawn');
  });

  it('keeps the terminal to itself: what happens meanwhile is printed after it', async () => {
    await start(1, async (turn) => {
      await turn.ask(0);
      await turn.driver.startCall(0, 'read');
      await turn.driver.output(0, 0, 'seen by nobody\n');
      await turn.driver.result(0, 'the content');
    });
    const { io, running } = atTerminal();
    await io.wrote('Allow?');
    while ((await logged('tool/result')).length === 0) await new Promise(setImmediate);
    expect(io.written.err).not.toContain('the content');
    io.type('y');
    expect(await running).toBe(0);
    const { err } = io.written;
    expect(err.indexOf('ok: the content')).toBeGreaterThan(err.indexOf('Allow?'));
    expect(err).not.toContain('seen by nobody');
  });
});

describe('a question that a run at a terminal meets', () => {
  it('is answered there, by numbers and in free words', async () => {
    const questions = [
      { id: 'colour', question: 'Which colour?', options: ['red', 'blue'] },
      { id: 'sizes', question: 'Which sizes?', options: ['S', 'M', 'L'], multiSelect: true },
      { id: 'name', question: 'What name?' },
    ];
    await start(1, (turn) => turn.askQuestion(0, questions));
    const { io, running } = atTerminal();
    await io.wrote('Which colour?\n  1 red\n  2 blue\n');
    await io.wrote('A number');
    io.type('7');
    await wroteTimes(io, 'A number', 2);
    io.type('2');
    await io.wrote('Numbers, or');
    io.type('1, L');
    await io.wrote('Your answer');
    io.type('Ann');
    expect(await running).toBe(0);
    expect(await logged('question/answered')).toMatchObject([
      {
        outcome: 'answered',
        answers: [
          { id: 'colour', selected: ['blue'] },
          { id: 'sizes', selected: ['S', 'L'] },
          { id: 'name', selected: [], text: 'Ann' },
        ],
      },
    ]);
  });
});

describe('a prompt of a run', () => {
  const unattended = async () =>
    (await logged('agent/inbox/spliced')).flatMap(({ inserted = [] }) =>
      inserted.map((item) => item.unattended === true),
    );

  it('says that somebody can answer where a person sits', async () => {
    await start(0, () => Promise.resolve());
    const { running } = atTerminal();
    expect(await running).toBe(0);
    expect(await unattended()).toEqual([false]);
  });

  it.each([{ in: true }, { err: true }, {}])(
    'says that nobody can with the terminals %j',
    async (isTerminal) => {
      await start(0, () => Promise.resolve());
      const { running } = atTerminal(fakeIo({ cwd: api.workspace, isTerminal }));
      expect(await running).toBe(0);
      expect(await unattended()).toEqual([true]);
    },
  );

  /** The result of the call that nobody could answer. */
  const refuse = (turn: AskedTurn) =>
    turn.driver.append([
      {
        type: 'tool/result',
        key: eventKeys.toolResult(turn.turn, 1, 0),
        turn: turn.turn,
        step: 1,
        surface: 'append',
        data: {
          callId: turn.driver.callId(0),
          content: [],
          isError: true,
          error: { name: 'Error', code: 'APPROVAL_UNAVAILABLE' },
          durationMs: 0,
        },
      },
    ]);

  it('ends with 5 where its call could not be approved', async () => {
    await start(0, async (turn) => {
      await turn.close(await turn.ask(0), 'unavailable');
      await refuse(turn);
    });
    const { io, running } = atTerminal(fakeIo({ cwd: api.workspace, isTerminal: { err: true } }));
    expect(await running).toBe(5);
    expect(io.written.err).toContain('approval unavailable');
    expect(io.written.err).toContain('--permission full-access');
  });

  it('ends with 5 where its question could not be answered, which no permission helps', async () => {
    await start(0, async (turn) => {
      await turn.askQuestion(0, [{ id: 'a', question: 'Which?' }]);
      await refuse(turn);
    });
    const { io, running } = atTerminal(fakeIo({ cwd: api.workspace, isTerminal: { err: true } }));
    expect(await running).toBe(5);
    expect(io.written.err).toContain('asked a question that nobody could answer');
    expect(io.written.err).not.toContain('full-access');
  });
});
