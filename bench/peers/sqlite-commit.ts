/** The floor under every durable answer: one row in one SQLite transaction with a full sync, on the same disk. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { nowMs } from '../clock.js';
import { ms, timeFigure, type Measurement } from '../measurement.js';
import { median, percentile } from '../statistics.js';

const COMMITS = 300;
const ROW = 'x'.repeat(400);

export const sqliteCommit: Measurement = {
  name: 'sqlite',
  title: 'Peer: SQLite alone',
  run: async () => {
    const folder = mkdtempSync(join(tmpdir(), 'turnkeeper-bench-sqlite-'));
    const database = new Database(join(folder, 'peer.db'));
    try {
      database.pragma('journal_mode = WAL');
      database.pragma('synchronous = FULL');
      database.exec('create table rows (id integer primary key, data text not null)');
      const insert = database.prepare('insert into rows (data) values (?)');
      const durations: number[] = [];
      for (let commit = 0; commit < COMMITS; commit += 1) {
        const start = nowMs();
        insert.run(ROW);
        durations.push(nowMs() - start);
      }
      return [
        timeFigure(`one row, WAL, synchronous=FULL, n=${String(COMMITS)}, median`, median(durations)),
        { what: '  p99', value: ms(percentile(durations, 0.99)) },
      ];
    } finally {
      database.close();
      rmSync(folder, { recursive: true, force: true });
    }
  },
};
