/**
 * Races of callers against a turn, on the real engine: each round is another session, pressed at other instants. There is
 * no sweeper here: whatever comes together, nothing waits for it.
 *
 * `TURNKEEPER_RACE_ROUNDS` makes it longer (default 3 rounds of 3 sessions for each race), `TURNKEEPER_RACE_SEED` other.
 */
import { setTimeout as pause } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import type { Client } from '../../src/client/client.js';
import type { PromptAnswer } from '../../src/contract/http.js';
import type { SessionUid } from '../../src/contract/ids.js';
import { framesPath } from '../../src/store/sqlite/open.js';
import { askingTools, type Ran } from '../support/asking-tools.js';
import { RacedSession } from '../support/raced-session.js';
import { ScriptedModelServer, type Reply } from '../support/scripted-model-server.js';
import { serveTurnApi, type TurnApi } from '../support/turn-api.js';
import { startTurnRuntime, type TurnRuntime } from '../support/turn-runtime.js';
import { seededRandom } from '../unit/model/seeded-random.js';

const ROUNDS = Number(process.env.TURNKEEPER_RACE_ROUNDS ?? 3);
const AT_ONCE = 3;
const random = seededRandom(Number(process.env.TURNKEEPER_RACE_SEED ?? 1));
const upTo = (limit: number) => Math.floor(random() * (limit + 1));
const oneOf = <T>(values: readonly T[]): T => values[upTo(values.length - 1)]!;
const soon = (limitMs: number) => pause(upTo(limitMs));
const times = <T>(count: number, make: (n: number) => T): T[] =>
  Array.from({ length: count }, (_, n) => make(n));

let model: ScriptedModelServer;
let runtime: TurnRuntime;
let api: TurnApi;
let client: Client;
const ran: Ran[] = [];

/** Some turns have several steps, with quick calls and slow ones; answers take some milliseconds, as real ones do. */
function reply(): Reply {
  const delayMs = upTo(4);
  if (random() < 0.6) return { text: 'That is all there is to say.', delayMs };
  const name = oneOf(['look', 'announce', 'deliver']);
  return {
    text: 'One moment.',
    calls: times(1 + upTo(1), () => ({ name, arguments: { text: 'x' } })),
    delayMs,
  };
}

beforeAll(async () => {
  model = await ScriptedModelServer.start({ script: reply });
  runtime = await startTurnRuntime({
    temporalAddress: inject('temporalAddress'),
    modelUrl: model.url,
    tools: askingTools(ran, () => soon(8)),
  });
  api = await serveTurnApi(runtime);
  client = api.client;
});
afterAll(async () => {
  await api.stop();
  await runtime.stop();
  await model.close();
});

/** Runs the race in many sessions, some of them at once, and settles each. */
async function race(name: string, run: (session: RacedSession) => Promise<unknown>): Promise<void> {
  for (let round = 0; round < ROUNDS; round += 1) {
    await Promise.all(
      times(AT_ONCE, async (n) => {
        const session = await RacedSession.create(runtime, client, `${name}-${String(round)}-${String(n)}`);
        await run(session);
        await session.settle();
      }),
    );
  }
  expect(model.refusals).toEqual([]);
}

const TIMEOUT = { timeout: 30_000 + ROUNDS * 15_000 };

it('prompts that come as a turn ends are each answered', TIMEOUT, () =>
  race('end', async (session) => {
    for (const type of ['assistant/message', 'step/end', 'turn/end'] as const) {
      const arrived = session.next(type);
      await session.prompt();
      await arrived;
      await Promise.all(
        times(2, async () => {
          await soon(oneOf([0, 3, 15]));
          await session.prompt({ mode: oneOf(['queue', 'steer', 'inject']) });
        }),
      );
    }
  }),
);

it('prompts that come at once each have their own place', TIMEOUT, () =>
  race('at-once', async (session) => {
    await Promise.all(times(8, () => session.prompt({ mode: oneOf(['queue', 'queue', 'steer', 'inject']) })));
  }),
);

it('one key that comes fifty times at once is one prompt', TIMEOUT, () =>
  race('key', async (session) => {
    const requestId = 'the-same';
    const whenRunning = oneOf(['reject', 'interrupt', undefined] as const);
    const send = async (): Promise<PromptAnswer> => {
      await soon(20);
      return session.prompt({ text: 'once', requestId, ...(whenRunning && { whenRunning }) });
    };
    const answers = await Promise.all(times(50, send));
    expect(new Set(answers.map(({ itemId }) => itemId)).size).toBe(1);
    expect(answers.filter(({ duplicate }) => !duplicate)).toHaveLength(1);
  }),
);

it('a cancel at any instant after the start ends its turn, and harms no other prompt', TIMEOUT, () =>
  race('cancel', async (session) => {
    for (let n = 0; n < 3; n += 1) {
      await session.prompt({ mode: oneOf(['queue', 'steer']) });
      await soon(50);
      await Promise.all([
        session.cancel(),
        soon(4).then(() => session.prompt({ mode: oneOf(['queue', 'steer', 'inject']) })),
      ]);
    }
  }),
);

it('steers at any instant of the last step are taken by this turn or the next', TIMEOUT, () =>
  race('steer', async (session) => {
    await session.prompt();
    await Promise.all(
      times(6, async () => {
        await soon(80);
        await session.prompt({ mode: 'steer' });
      }),
    );
  }),
);

it('edits, moves and removals at the instant of the claim happen before it or not at all', TIMEOUT, () =>
  race('change', async (session) => {
    await session.prompt();
    const queued = await Promise.all(
      times(4, () => session.prompt({ mode: oneOf(['queue', 'steer', 'inject']) })),
    );
    await Promise.all(
      queued.map(async ({ itemId }, n) => {
        await soon(60 * (n + 1));
        await session.change(itemId, { text: `edited ${itemId}` });
        await soon(20);
        await session.change(itemId, { mode: oneOf(['steer', 'queue']) });
        await soon(20);
        if (random() < 0.5) await session.remove(itemId);
        else
          await session.change(itemId, { text: `edited again ${itemId}`, mode: oneOf(['steer', 'queue']) });
      }),
    );
  }),
);

it('a storm of interruptions leaves each of them a turn of its own', TIMEOUT, () =>
  race('interrupt', async (session) => {
    await session.prompt({ mode: oneOf(['queue', 'steer']) });
    await Promise.all(
      times(6, async (n) => {
        await soon(n * 20);
        if (random() < 0.2) await session.tryPrompt({ whenRunning: 'reject' });
        else if (random() < 0.2) await session.prompt({ mode: oneOf(['queue', 'steer']) });
        else await session.prompt({ whenRunning: 'interrupt' });
      }),
    );
  }),
);

it('a deletion at any instant leaves nothing, and a session of the same id unharmed', TIMEOUT, async () => {
  const gone: SessionUid[] = [];
  await race('delete', async (session) => {
    const old = await RacedSession.create(runtime, client, `${session.id}-deleted`);
    gone.push(old.uid);
    await old.prompt();
    await soon(60);
    const late = times(3, () =>
      soon(5)
        .then(() => client.prompt(old.id, { text: 'late' }))
        .then(
          () => 'taken',
          (error: unknown) => (error as { code?: string }).code,
        ),
    );
    const [, ...answers] = await Promise.all([soon(5).then(() => client.deleteSession(old.id)), ...late]);
    for (const answer of answers) expect(['taken', 'NOT_FOUND']).toContain(answer);
    const again = await RacedSession.create(runtime, client, old.id);
    await again.prompt();
    await again.settle();
    await session.prompt();
  });
  await expect.poll(() => rowsOf(gone), { timeout: 10_000 }).toEqual([]);
});

/** What either database has of these sessions, by table. */
function rowsOf(uids: readonly SessionUid[]): string[] {
  return [runtime.databasePath, framesPath(runtime.databasePath)].flatMap((file) => {
    const database = new Database(file, { readonly: true });
    // The leftovers are notes: by them is found what of a deleted session lies outside of the log.
    const tables = database
      .prepare("select name from sqlite_master where type = 'table' and name <> 'leftovers'")
      .pluck()
      .all() as string[];
    const found = tables.filter((table) => {
      const columns = database.pragma(`table_info(${table})`) as { name: string }[];
      const column = columns.find(
        ({ name }) => name === 'session_uid' || (table === 'sessions' && name === 'uid'),
      );
      if (column === undefined) return false;
      const marks = uids.map(() => '?').join();
      return (
        database.prepare(`select 1 from ${table} where ${column.name} in (${marks})`).get(...uids) !==
        undefined
      );
    });
    database.close();
    return found;
  });
}
