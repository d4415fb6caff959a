/**
 * What is kept of one output stream of a command: its head and tail in memory and, where it goes to a blob, the whole in a
 * spool file, up to a bound.
 *
 * Shows the text live while it comes in, decoded as a stream, so that no character is split.
 */
import { randomUUID } from 'node:crypto';
import { type FileHandle, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { CapturedStream } from '../execution-provider.js';
import { binaryMediaType, looksBinary } from '../media-type.js';
import type { SaveBlob } from '../tool.js';
import { utf8Head, utf8Tail } from '../utf8-cut.js';

/** How much of a stream is kept as text: all up to here, else a head and a tail of half of it each. */
export const KEPT_BYTES = 64 * 1024;
/** How much of a stream goes to the blob at most. */
export const SPOOL_BYTES = 32 * 1024 * 1024;
/** How much of a stream is shown while the command runs, where nothing else is asked for. */
export const LIVE_BYTES = 1024 * 1024;

export interface CaptureOptions {
  readonly liveBytes?: number | undefined;
  /** Where it is absent, no more of the stream is kept than its head and tail. */
  readonly saveBlob?: SaveBlob | undefined;
}

export class StreamCapture {
  readonly #show: (text: string) => void;
  readonly #liveBytes: number;
  readonly #saveBlob: SaveBlob | undefined;
  readonly #decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  #first: Uint8Array[] = [];
  #firstBytes = 0;
  #last: Uint8Array = new Uint8Array();
  #bytes = 0;
  #busy = false;
  #spool: FileHandle | undefined;
  #spooled = 0;
  #live: 'shown' | 'stopped' = 'shown';

  constructor(show: (text: string) => void, { liveBytes = LIVE_BYTES, saveBlob }: CaptureOptions) {
    this.#show = show;
    this.#liveBytes = liveBytes;
    this.#saveBlob = saveBlob;
  }

  /** Bytes that came in so far. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Whether more is coming in than is ever kept, so that there is no hurry to read it. */
  get full(): boolean {
    return this.#bytes >= SPOOL_BYTES;
  }

  /** Whether bytes are being taken, so that more may be waiting behind them. */
  get busy(): boolean {
    return this.#busy;
  }

  /** Takes the next bytes; to be awaited before more are given. */
  async add(chunk: Uint8Array): Promise<void> {
    this.#busy = true;
    this.#bytes += chunk.length;
    this.#showLive(chunk);
    if (this.#firstBytes < KEPT_BYTES) {
      const kept = chunk.subarray(0, KEPT_BYTES - this.#firstBytes);
      this.#first.push(kept);
      this.#firstBytes += kept.length;
    }
    this.#last = Buffer.concat([this.#last, chunk]).subarray(-KEPT_BYTES / 2);
    if (this.#bytes > KEPT_BYTES && this.#saveBlob !== undefined) await this.#spoolChunk(chunk);
    this.#busy = false;
  }

  /** What is kept; where it is more than that or no text, the whole goes to a blob. Call it once, then `dispose`. */
  async finish(): Promise<CapturedStream> {
    const rest = this.#live === 'shown' ? this.#decoder.decode() : '';
    if (rest !== '') this.#show(rest);
    const first = Buffer.concat(this.#first);
    const binary = looksBinary(first) ? binaryMediaType(first) : undefined;
    const isWhole = this.#bytes <= KEPT_BYTES;
    if (binary === undefined && isWhole) {
      return { bytes: this.#bytes, head: decode(first), tail: '', omittedBytes: 0 };
    }
    const blob = await this.#keepWhole(isWhole ? first : undefined, binary ?? 'text/plain; charset=utf-8');
    if (binary !== undefined) {
      return { bytes: this.#bytes, binary, head: '', tail: '', omittedBytes: this.#bytes, ...blob };
    }
    const head = utf8Head(first, KEPT_BYTES / 2);
    const tail = utf8Tail(this.#last, KEPT_BYTES / 2);
    const omittedBytes = this.#bytes - head.length - tail.length;
    return { bytes: this.#bytes, head: decode(head), tail: decode(tail), omittedBytes, ...blob };
  }

  async dispose(): Promise<void> {
    await this.#spool?.close();
    this.#spool = undefined;
  }

  #showLive(chunk: Uint8Array): void {
    if (this.#live === 'stopped') return;
    if (looksBinary(chunk)) {
      this.#live = 'stopped';
      this.#show('[binary output]\n');
    } else if (this.#bytes > this.#liveBytes) {
      this.#live = 'stopped';
      this.#show(
        `\n[output over ${String(this.#liveBytes)} bytes is not shown live; the result has its end]\n`,
      );
    } else {
      const text = this.#decoder.decode(chunk, { stream: true });
      if (text !== '') this.#show(text);
    }
  }

  async #spoolChunk(chunk: Uint8Array): Promise<void> {
    if (this.#spool === undefined) {
      this.#spool = await openSpool();
      // All that came before this chunk is still in memory: it was within the kept bytes.
      const before = Buffer.concat(this.#first).subarray(0, this.#bytes - chunk.length);
      await this.#writeSpool(before);
    }
    await this.#writeSpool(chunk);
  }

  async #writeSpool(bytes: Uint8Array): Promise<void> {
    const part = bytes.subarray(0, SPOOL_BYTES - this.#spooled);
    if (part.length === 0) return;
    await this.#spool?.writeFile(part);
    this.#spooled += part.length;
  }

  /** @param inMemory where the spool does not have it. */
  async #keepWhole(
    inMemory: Uint8Array | undefined,
    mediaType: string,
  ): Promise<Pick<CapturedStream, 'blob'>> {
    if (this.#saveBlob === undefined) return {};
    const whole = inMemory ?? (await this.#readSpool());
    return { blob: { sha256: await this.#saveBlob(whole, mediaType), bytes: whole.length } };
  }

  async #readSpool(): Promise<Uint8Array> {
    const whole = Buffer.allocUnsafe(this.#spooled);
    let filled = 0;
    while (filled < whole.length) {
      const read = await this.#spool?.read(whole, filled, whole.length - filled, filled);
      if (read === undefined || read.bytesRead === 0) break;
      filled += read.bytesRead;
    }
    return whole.subarray(0, filled);
  }
}

/** A file without a name: it is gone with its handle, also when the process is killed. */
async function openSpool(): Promise<FileHandle> {
  const path = join(tmpdir(), `turnkeeper-spool-${randomUUID()}`);
  const handle = await open(path, 'wx+', 0o600);
  await rm(path);
  return handle;
}

function decode(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('utf8');
}
