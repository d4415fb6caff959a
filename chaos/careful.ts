/** A careful client: it asks again, with the same key, until it has an answer that counts. */
import { ApiError, ConnectionError } from '../src/client/api-error.js';

const AGAIN_AFTER_MS = 100;

/** Repeats a call while nobody answers it, or the server says that it cannot for now. */
export async function insist<T>(call: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await call();
    } catch (error) {
      const passes =
        error instanceof ConnectionError ||
        (error instanceof ApiError && (error.status === 503 || error.status === 429));
      if (!passes) throw error;
      await new Promise((resolve) => setTimeout(resolve, AGAIN_AFTER_MS));
    }
  }
}
