import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterEach, describe, expect, it } from 'vitest';
import { textOfBlob } from '../../src/store/large-content.js';
import { TestSession } from './session-store/store-fixture.js';
import { openTemporarySqlite, type TemporarySqlite } from './temporary-sqlite.js';

const SCRIPT = join(import.meta.dirname, 'append-until-killed.ts');

let open: TemporarySqlite | undefined;
afterEach(async () => {
  await open?.close();
  open = undefined;
});

/** Runs the writing process until it has committed this often, and kills it where it stands. */
async function writeAndKill(path: string, uid: string, commits: number): Promise<[number, number][]> {
  const child = spawn(process.execPath, ['--import', 'tsx', SCRIPT, path, uid], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit');
  const committed: [number, number][] = [];
  for await (const line of createInterface({ input: child.stdout })) {
    committed.push(JSON.parse(line) as [number, number]);
    if (committed.length === commits) child.kill('SIGKILL');
  }
  const [, signal] = (await exited) as [number | null, string | null];
  expect(signal).toBe('SIGKILL');
  return committed;
}

describe('a process that is killed while it writes', () => {
  it('leaves a whole log, with all that it had said to be stored, time after time', async () => {
    open = await openTemporarySqlite();
    let store = open.store;
    const session = await TestSession.create(() => store);
    await session.prompt();
    await session.enter();
    let frames = 0;
    for (const commits of [1, 20]) {
      await store.close();
      const committed = await writeAndKill(open.path, session.uid, commits);
      expect(committed.length).toBeGreaterThanOrEqual(commits);
      store = await open.reopen();

      const events = await session.events();
      expect(events.map(({ seq }) => seq)).toEqual(events.map((_, seq) => seq));
      expect(await session.record()).toMatchObject({ headSeq: events.length - 1 });
      expect((await session.state()).headSeq).toBe(events.length - 1);
      const [lastSeq, lastFrame] = committed.at(-1) ?? [0, 0];
      expect(events.length - 1).toBeGreaterThanOrEqual(lastSeq + 2);
      expect(lastFrame).toBeGreaterThanOrEqual(frames + commits);

      // A transaction is there as a whole or not at all: titles come in twos, with their message and its blob.
      const written = events.slice(events.findIndex(({ type }) => type === 'session/title'));
      expect(written.length % 3).toBe(0);
      for (let from = 0; from < written.length; from += 3) {
        const [a, b, message] = written.slice(from, from + 3);
        const [n] = a?.type === 'session/title' ? a.data.title.split(' ') : [];
        expect(b).toMatchObject({ type: 'session/title', data: { title: `${String(n)} b` } });
        const block = message?.type === 'user/message' ? message.data.content[0] : undefined;
        const blob = block?.type === 'blob' ? await store.readBlob(session.uid, block.sha256) : undefined;
        expect(textOfBlob(blob!.bytes).startsWith(`${String(n)}x`)).toBe(true);
      }

      const tail = await store.readTail(session.uid, { seq: -1, frame: 0, limit: 100_000 });
      expect(tail.headFrame).toBeGreaterThanOrEqual(lastFrame);
      frames = tail.headFrame;
      // The attempt of the killed process runs for all that the log knows, until the next one gives it up.
      const running = await session.transact((transaction) => transaction.runningAttempts(1, 1));
      expect(running).toHaveLength(1);
    }
  }, 60_000);
});
