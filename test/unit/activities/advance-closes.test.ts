import { pino } from 'pino';
import { v7 as uuidv7 } from 'uuid';
import { afterEach, describe, expect, it } from 'vitest';
import type { ActivityDeps } from '../../../src/activities/activity-deps.js';
import { createAdvance } from '../../../src/activities/advance.js';
import { openTemporarySqlite, type TemporarySqlite } from '../../contract/temporary-sqlite.js';
import { run, TestSession } from '../../contract/session-store/store-fixture.js';
import { checkLog } from '../../support/log-invariants.js';

const opened: TemporarySqlite[] = [];
afterEach(async () => {
  for (const sqlite of opened.splice(0)) await sqlite.close();
});

/** A turn that is to be ended by an activity that can do nothing but read and write the log. */
async function ending(prepare: (session: TestSession) => Promise<void>) {
  const sqlite = await openTemporarySqlite();
  opened.push(sqlite);
  const session = await TestSession.create(() => sqlite.store);
  await session.prompt();
  await prepare(session);
  const broken = new Proxy(
    {},
    {
      get: () => () => {
        throw new Error('broken');
      },
    },
  );
  const deps = {
    store: sqlite.store,
    registry: broken,
    profiles: broken,
    engine: { startTurn: () => Promise.resolve(), startFollowUp: () => Promise.resolve() },
    ids: { uuid: uuidv7 },
    logger: pino({ level: 'silent' }),
  } as unknown as ActivityDeps;
  const end = () =>
    createAdvance(deps)({
      uid: session.uid,
      turn: 1,
      run: run(1),
      completedStep: 0,
      stop: { kind: 'failed', code: 'ActivityError' },
    });
  return { session, end };
}

describe('a turn that cannot be ended as it should be', () => {
  it('is closed all the same, with a result for each call, and the queue goes on', async () => {
    const { session, end } = await ending(async (own) => {
      await own.enter();
      await own.message(2);
      await own.prompt();
    });
    expect(await end()).toEqual({ kind: 'ended' });
    const events = await session.events();
    expect(checkLog(events)).toEqual([]);
    expect(events.filter(({ type }) => type === 'tool/result')).toHaveLength(2);
    expect(events.find(({ type }) => type === 'turn/end')?.data).toMatchObject({
      reason: { kind: 'interrupted' },
    });
    expect((await session.state()).openTurn?.number).toBe(2);
    expect(await end()).toEqual({ kind: 'ended' });
  });

  it('is entered first where it was not', async () => {
    const { session, end } = await ending(() => Promise.resolve());
    expect(await end()).toEqual({ kind: 'ended' });
    expect(checkLog(await session.events())).toEqual([]);
    expect((await session.state()).openTurn).toBeNull();
  });
});
