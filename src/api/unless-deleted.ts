/** Lists are read in two steps; what cannot be read in the second one, and does not concern the others, is left out. */
import { StoreError, type StoreErrorCode } from '../store/session-store.js';

/** What `read` finds of a session; undefined where that was deleted since it was listed. */
export async function unlessDeleted<T>(read: () => Promise<T>): Promise<T | undefined> {
  return unless(['SESSION_NOT_FOUND'], read);
}

/**
 * As {@link unlessDeleted}, for lists across sessions: one whose log is damaged must not take the list from all others.
 * Whoever asks for that very session is refused.
 */
export async function unlessUnreadable<T>(read: () => Promise<T>): Promise<T | undefined> {
  return unless(['SESSION_NOT_FOUND', 'LOG_CORRUPT', 'LOG_UNSUPPORTED'], read);
}

async function unless<T>(codes: readonly StoreErrorCode[], read: () => Promise<T>): Promise<T | undefined> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof StoreError && codes.includes(error.code)) return undefined;
    throw error;
  }
}
