/** Lists are read in two steps; what was deleted between them is left out. */
import { StoreError } from '../store/session-store.js';

/** What `read` finds of a session; undefined where that was deleted since it was listed. */
export async function unlessDeleted<T>(read: () => Promise<T>): Promise<T | undefined> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof StoreError && error.code === 'SESSION_NOT_FOUND') return undefined;
    throw error;
  }
}
