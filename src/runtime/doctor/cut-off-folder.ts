/** Where events are kept that were cut off a log: a folder of the home, for a person to look into. */
import { appendFileSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';

const FOLDER = 'cut-off';

/** One repair's files in it, a line of JSON for each event as it stood in the database. */
export class CutOffFolder {
  #isUsed = false;

  /** @param at when the repair began, ISO 8601; it names the folder. */
  constructor(
    private readonly home: string,
    private readonly at: string,
  ) {}

  /** The folder; undefined while nothing was kept. */
  get folder(): string | undefined {
    return this.#isUsed ? this.#folder : undefined;
  }

  /** @param name of the file; what no file can be named is replaced. */
  keep(name: string, rows: readonly unknown[]): void {
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
    this.#isUsed = true;
    const file = `${name.replaceAll(/[^0-9a-zA-Z-]/g, '_').slice(0, 40)}.jsonl`;
    const lines = rows.map((row) => `${JSON.stringify(row)}\n`).join('');
    appendFileSync(join(this.#folder, file), lines, { mode: 0o600 });
  }

  get #folder(): string {
    return join(this.home, FOLDER, this.at.replaceAll(':', '-'));
  }
}
