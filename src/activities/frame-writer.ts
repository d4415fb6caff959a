/**
 * Group commit of a running attempt's chunks into frames.
 *
 * The first chunk is stored at once; what comes while a commit runs goes into the next frame. A frame is stored before
 * any reader sees it.
 */
import type { Chunk } from '../contract/chunks.js';
import type { SessionUid } from '../contract/ids.js';
import type { AttemptRef, SessionStore } from '../store/session-store.js';

/** A frame's chunks hold at most this many characters of JSON, but for a single chunk that is larger. */
const MAX_FRAME_CHARACTERS = 32 * 1024;

export class FrameWriter {
  #pending: Chunk[] = [];
  #written = 0;
  #running: Promise<void> | undefined;
  #failure: { readonly error: unknown } | undefined;

  /** @param onFailure called once, when the store refuses a frame: the attempt is fenced or the store is away. */
  constructor(
    private readonly store: Pick<SessionStore, 'appendFrame'>,
    private readonly uid: SessionUid,
    private readonly attempt: AttemptRef,
    private readonly onFailure: (error: unknown) => void,
  ) {}

  push(chunk: Chunk): void {
    // After a refusal nothing more is stored: what came later would be shown joined over a gap.
    if (this.#failure !== undefined) return;
    this.#pending.push(chunk);
    this.#running ??= this.#drain();
  }

  /** Resolves when all that was pushed is stored. @throws what the store threw. */
  async flush(): Promise<void> {
    while (this.#running !== undefined) await this.#running;
    if (this.#failure !== undefined) throw this.#failure.error;
  }

  async #drain(): Promise<void> {
    // What arrives in the same tick belongs into the same frame.
    await Promise.resolve();
    try {
      while (this.#pending.length > 0) {
        const chunks = this.#take();
        await this.store.appendFrame(this.uid, this.attempt, { index: this.#written, chunks });
        this.#written += chunks.length;
      }
    } catch (error) {
      this.#failure ??= { error };
      this.#pending = [];
      this.onFailure(error);
    } finally {
      this.#running = undefined;
    }
  }

  #take(): Chunk[] {
    let size = 0;
    let count = 0;
    for (const chunk of this.#pending) {
      size += JSON.stringify(chunk).length;
      if (count > 0 && size > MAX_FRAME_CHARACTERS) break;
      count += 1;
    }
    return this.#pending.splice(0, count);
  }
}
