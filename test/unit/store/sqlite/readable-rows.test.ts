import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readRows } from '../../../../src/store/sqlite/readable-rows.js';

const ROWS = 1000;
const ROWS_PER_PAGE = 40;
const PAGE_BYTES = 4096;

let folder: string;
let file: string;
let bytes: Buffer;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'turnkeeper-rows-'));
  file = join(folder, 'rows.db');
  const database = new Database(file);
  database.exec('create table t (n integer, text text)');
  const insert = database.prepare('insert into t values (?, ?)');
  database.exec('begin');
  for (let n = 1; n <= ROWS; n += 1) insert.run(n, 'x'.repeat(PAGE_BYTES / ROWS_PER_PAGE));
  database.exec('commit');
  database.close();
  bytes = readFileSync(file);
});
afterEach(() => {
  rmSync(folder, { recursive: true });
});

/** The rows that can be read of the file, damaged so. */
function read(damage: (copy: Buffer) => Buffer): {
  readonly ns: readonly number[];
  readonly isWhole: boolean;
} {
  writeFileSync(file, damage(Buffer.from(bytes)));
  const database = new Database(file, { readonly: true });
  database.unsafeMode().pragma('writable_schema = on');
  const ns: number[] = [];
  try {
    const isWhole = readRows(database, { table: 't', columns: ['n', 'text'] }, ([n]) => {
      // Of what is left of a page nobody knows what it says.
      if (typeof n === 'bigint') ns.push(Number(n));
    });
    return { ns, isWhole };
  } finally {
    database.close();
  }
}

const pages = () => bytes.length / PAGE_BYTES;

describe('the rows of a damaged table', () => {
  it('are all of them where it is whole', () => {
    const { ns, isWhole } = read((copy) => copy);
    expect(isWhole).toBe(true);
    expect(ns).toEqual(Array.from({ length: ROWS }, (_, n) => n + 1));
  });

  it('are all but those of the pages that are lost, wherever those are', () => {
    for (const lost of [[5], [pages()], [4, 9, pages()], [4, 5, 12, 13, 20]]) {
      const { ns, isWhole } = read((copy) => {
        for (const page of lost) copy.fill(0, (page - 1) * PAGE_BYTES, page * PAGE_BYTES);
        return copy;
      });
      expect(isWhole).toBe(false);
      expect(new Set(ns).size).toBe(ns.length);
      expect(ns.length).toBeGreaterThanOrEqual(ROWS - lost.length * ROWS_PER_PAGE);
    }
  });

  it('are read once, also where a part of a page is left that says anything', () => {
    for (let missing = 64; missing < PAGE_BYTES; missing += 64) {
      for (const page of [pages() - 1, pages()]) {
        const { ns } = read((copy) => copy.fill(0, page * PAGE_BYTES - missing, page * PAGE_BYTES));
        expect(new Set(ns).size).toBe(ns.length);
        expect(ns.length).toBeGreaterThanOrEqual(ROWS - ROWS_PER_PAGE);
      }
    }
  });

  it('are none where nothing is left, and that is found out soon', () => {
    const { ns, isWhole } = read((copy) => copy.fill(0, PAGE_BYTES));
    expect({ ns, isWhole }).toEqual({ ns: [], isWhole: false });
  });
});
