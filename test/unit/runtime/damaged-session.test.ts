/** One session of many whose log is damaged while a server runs: the sweeper does not spin on it, nor pass others over. */
import { pino } from 'pino';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { TurnEngine } from '../../../src/contract/turn-engine.js';
import { startSweeper } from '../../../src/runtime/sweeper.js';
import { TestSession } from '../../contract/session-store/store-fixture.js';
import { openTemporarySqlite, type TemporarySqlite } from '../../contract/temporary-sqlite.js';

const HALF_AN_HOUR_MS = 1_800_000;

let sqlite: TemporarySqlite;
beforeEach(async () => {
  sqlite = await openTemporarySqlite();
});
afterEach(async () => {
  vi.useRealTimers();
  await sqlite.close();
});

it('a damaged session is asked about less and less often, and others are swept as ever', async () => {
  const damaged = await TestSession.create(() => sqlite.store);
  const fine = await TestSession.create(() => sqlite.store);
  for (const session of [damaged, fine]) await session.prompt();
  sqlite.sql(`update events set data = '{' where session_uid = ? and seq = 1`, [damaged.uid]);
  const store = await sqlite.reopen();
  vi.useFakeTimers({ now: Date.now() });
  const started: string[] = [];
  const warnings: string[] = [];
  const engine: TurnEngine = {
    // As the engine of a server: how a turn is started stands in its log.
    startTurn: async (uid) => {
      await store.readState(uid);
      started.push(uid);
    },
    tellDecision: () => Promise.resolve(),
    cancelTurn: () => Promise.resolve(),
    startFollowUp: () => Promise.resolve(),
    describeTurn: () => Promise.resolve({ kind: 'running', failedTasks: 0, activities: [] }),
  };
  const logger = pino({ level: 'warn' }, { write: (line: string) => warnings.push(line) });
  const sweeper = startSweeper({ store, engine, clock: Date.now, logger, isEngineUp: () => true });
  await vi.advanceTimersByTimeAsync(HALF_AN_HOUR_MS);
  sweeper.stop();
  expect(new Set(started)).toEqual(new Set([fine.uid]));
  expect(started.length).toBeGreaterThan(5);
  expect(warnings.length).toBeGreaterThan(1);
  // With pauses that double up to five minutes; at every sweep it would be 360.
  expect(warnings.length).toBeLessThan(15);
  for (const line of warnings) expect(line).toContain('turnkeeper doctor');
});
