/** A wait that an abort ends. */

/** Waits; rejects with the signal's reason as soon as it aborts. */
export function abortableWait(waitMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const abort = (): void => {
      clearTimeout(timer);
      reject(signal.reason as Error);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', abort);
      resolve();
    }, waitMs);
    signal.addEventListener('abort', abort, { once: true });
  });
}
