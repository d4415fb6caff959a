/** Fresh homes on the disk of the temporary folder, removed when the benchmark ends. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export class Homes {
  readonly #folders: string[] = [];

  /** An empty folder of mode 0700. */
  make(): string {
    const folder = mkdtempSync(join(tmpdir(), 'turnkeeper-bench-'));
    this.#folders.push(folder);
    return folder;
  }

  removeAll(): void {
    for (const folder of this.#folders) rmSync(folder, { recursive: true, force: true });
  }
}
