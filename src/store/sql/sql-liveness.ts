/** The table behind `LivenessStore`. */
import type { LivenessStore } from '../liveness-store.js';
import type { SqlBackend } from './sql-session-store.js';

const ONLY_ROW = 1;

export class SqlLivenessStore implements LivenessStore {
  constructor(
    private readonly backend: Pick<SqlBackend, 'log' | 'transaction'>,
    private readonly guard: <T>(work: () => Promise<T>) => Promise<T>,
  ) {}

  async lastAlive(): Promise<string | undefined> {
    const row = await this.guard(() =>
      this.backend.log.selectFrom('liveness').select('at').where('id', '=', ONLY_ROW).executeTakeFirst(),
    );
    return row?.at;
  }

  async markAlive(at: string): Promise<void> {
    await this.guard(() =>
      this.backend.transaction('relaxed', (db) =>
        db
          .insertInto('liveness')
          .values({ id: ONLY_ROW, at })
          .onConflict((conflict) => conflict.column('id').doUpdateSet({ at }))
          .execute(),
      ),
    );
  }
}
