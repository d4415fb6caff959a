/** A home whose session log is damaged by a test, and what is known of the log as it was. */
import { cpSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { v7 as uuidv7 } from 'uuid';
import { expect } from 'vitest';
import type { SessionEvent } from '../../src/contract/events.js';
import type { ApprovalId, CallId, SessionId, SessionUid, Sha256 } from '../../src/contract/ids.js';
import type { SessionState } from '../../src/core/session-state.js';
import { loadConfiguration } from '../../src/runtime/configuration/load-configuration.js';
import type { Finding } from '../../src/runtime/doctor/check.js';
import { repairLog } from '../../src/runtime/doctor/repair-log.js';
import { sessionsCheck } from '../../src/runtime/doctor/sessions-check.js';
import { storeCheck } from '../../src/runtime/doctor/store-check.js';
import type { SessionStore, TurnRecord } from '../../src/store/session-store.js';
import { framesPath, openSqliteStore } from '../../src/store/sqlite/open.js';
import { makeDatabaseFolder } from '../support/database-folder.js';
import { checkLog } from '../support/log-invariants.js';
import { SOME_SHA256 } from '../support/log-builder.js';
import { owner, TestSession, title } from './session-store/store-fixture.js';

/** What a session was before the damage. */
export interface SessionBefore {
  readonly id: SessionId;
  readonly uid: SessionUid;
  readonly events: readonly SessionEvent[];
  readonly state: SessionState;
  readonly turns: readonly TurnRecord[];
  readonly blobs: readonly Sha256[];
}

/** A folder with a log of sessions in all kinds of states, and the same log as it was left by a process that died. */
export interface WholeLog {
  readonly folder: string;
  readonly sessions: readonly SessionBefore[];
}

export async function makeWholeLog(): Promise<WholeLog> {
  const folder = makeDatabaseFolder('turnkeeper-whole-');
  mkdirSync(join(folder, 'closed'));
  const store = await openSqliteStore({ path: join(folder, 'closed', 'sessions.db'), clock: Date.now });
  const uids: SessionUid[] = [];
  for (let n = 0; n < 6; n += 1) {
    const uid = uuidv7() as SessionUid;
    const settings = { workspace: '/workspace', profile: 'default', metadata: { number: String(n) } };
    const id = `session-${String(n)}` as SessionId;
    await store.createSession({ tenant: 'tenant', id, uid, settings, bodySha256: 'body' });
    await fill(
      TestSession.of(() => store, uid),
      n,
    );
    uids.push(uid);
  }
  const sessions: SessionBefore[] = [];
  for (const uid of uids) sessions.push(await readSession(store, uid));
  // Before the store is closed: what was committed last stands in the WAL alone.
  cpSync(join(folder, 'closed'), join(folder, 'died'), { recursive: true });
  await store.close();
  return { folder, sessions };
}

async function fill(session: TestSession, n: number): Promise<void> {
  for (let turn = 1; turn <= n; turn += 1) {
    await session.prompt();
    await session.enter();
    await session.message();
    await session.append(title(`title ${'x'.repeat(turn * 900)}`));
    if (turn === 3) await session.append(title('y'.repeat(9000)));
    if (turn < n || n % 2 === 0) await session.end();
  }
  if (n === 2) await session.prompt('queue', { content: [{ type: 'text', text: 'z'.repeat(100_000) }] });
  if (n === 4) {
    await session.prompt();
    await session.enter();
    const attempt = await session.openAttempt({ turn: 5, step: 1 }, owner());
    if (attempt.kind === 'granted')
      await session.frame({ turn: 5, step: 1, attempt: attempt.attempt }, 'half an ans');
    await session.message(2);
    await session.transact((transaction) =>
      transaction.stage(5, 1, { index: 1, content: [], isError: false, contexts: [], durationMs: 0 }),
    );
    const { openTurn } = await session.state();
    const [call] = openTurn?.step?.calls ?? [];
    await session.append({
      type: 'approval/asked',
      turn: 5,
      step: 1,
      data: {
        approvalId: uuidv7() as ApprovalId,
        callId: call?.callId ?? ('none' as CallId),
        tool: 'bash',
        arguments: '{}',
        argumentsSha256: SOME_SHA256,
        reason: 'It writes.',
      },
    });
  }
}

/** What the session is now. */
export async function readSession(store: SessionStore, uid: SessionUid): Promise<SessionBefore> {
  const record = await store.findSessionByUid(uid);
  if (record === undefined) throw new Error(`There is no session ${uid}.`);
  return {
    id: record.id,
    uid,
    events: await store.readEvents(uid, { limit: 10_000 }),
    state: await store.readState(uid),
    turns: await store.listTurns(uid, { limit: 100 }),
    blobs: await store.archive.blobs(uid),
  };
}

/** A copy of the whole log in a home of its own. */
export class DamagedHome {
  readonly folder = makeDatabaseFolder('turnkeeper-home-');
  readonly file = join(this.folder, 'sessions.db');
  readonly frames = framesPath(this.file);
  readonly #configuration = loadConfiguration({ flags: { home: this.folder }, env: {} }).configuration;

  constructor(readonly whole: WholeLog) {
    this.reset();
  }

  /** @param died with the WAL of a process that did not close the log. */
  reset(died = false): void {
    this.remove();
    cpSync(join(this.whole.folder, died ? 'died' : 'closed'), this.folder, { recursive: true });
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }

  sql(statement: string, values: readonly unknown[] = [], file = this.file): unknown[] {
    const database = new Database(file);
    try {
      const prepared = database.prepare(statement);
      if (prepared.reader) return prepared.all(...values);
      prepared.run(...values);
      return [];
    } finally {
      database.close();
    }
  }

  async repair(): Promise<readonly Finding[]> {
    const findings: Finding[] = [];
    for await (const finding of repairLog(this.#configuration)) findings.push(finding);
    return findings;
  }

  /** What the doctor says of the file and of the sessions in it. */
  async examine(): Promise<{ readonly store: Finding; readonly sessions: Finding }> {
    const context = { configuration: this.#configuration, env: {} };
    const thrown = (error: unknown): Finding => ({ status: 'problem', message: String(error) });
    return {
      store: await storeCheck.run(context),
      sessions: await sessionsCheck.run(context).catch(thrown),
    };
  }

  async withStore<T>(work: (store: SessionStore) => Promise<T>): Promise<T> {
    const store = await openSqliteStore({ path: this.file, clock: Date.now });
    try {
      return await work(store);
    } finally {
      await store.close();
    }
  }
}

/**
 * What a session is that is left after a repair: the beginning of what it was, with what closes it; and it works.
 *
 * @param endsEarly whether its last events may be gone without a word, as with the end of a WAL.
 */
export async function expectWorks(
  store: SessionStore,
  { uid, ...before }: SessionBefore,
  endsEarly = false,
): Promise<void> {
  const events = await store.readEvents(uid, { limit: 10_000 });
  const common = commonLength(events, before.events);
  if (common < events.length || (common < before.events.length && !endsEarly)) {
    expect(events[common]).toMatchObject({ type: 'session/repaired', data: { cause: 'log-damaged' } });
  }
  expect(checkLog(events, { mayRun: true })).toEqual([]);
  for (const sha256 of await store.archive.blobs(uid)) expect(before.blobs).toContain(sha256);
  const session = TestSession.of(() => store, uid);
  await session.prompt();
  expect((await session.state()).openTurn).not.toBeNull();
}

/** How many events of a log are the same as in another one, apart from the id under which they are read. */
export function commonLength(events: readonly SessionEvent[], others: readonly SessionEvent[]): number {
  const text = (event: SessionEvent | undefined) => JSON.stringify({ ...event, sessionId: undefined });
  const differs = events.findIndex((event, seq) => text(event) !== text(others[seq]));
  return differs === -1 ? events.length : differs;
}
