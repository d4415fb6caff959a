/**
 * The connection of one follower: headers, backpressure, pings and its end.
 *
 * Owns no buffer of its own. Where the socket is full, whoever sends waits; nothing is kept for a reader that does not read.
 */
import type { Response } from 'express';
import { renderMessage, type StreamEventName } from './stream-item.js';

/** A reader that has taken nothing for this long has stopped reading: what was read for it is let go. */
const STALL_MS = 1000;
/** How long a browser's EventSource waits before it comes back; its own default is several seconds. */
const RETRY = Buffer.from('retry: 1000\n\n');

export class EventStream {
  #isClosed = false;
  #isFull = false;
  #isPingDue = false;
  #isAwake = false;
  #sleeper: (() => void) | null = null;
  #drainer: (() => void) | null = null;
  #timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly response: Response,
    private readonly pingIntervalMs: number,
  ) {
    const { socket } = response.req;
    response.once('close', this.#onClose);
    response.on('drain', this.#onDrain);
    // A response that waits behind another one on its connection is not told when that is lost; the socket is.
    socket.once('close', this.#onClose);
    // Whoever asked may have left while the session was looked up: then no `close` is to come.
    if (socket.destroyed) this.#onClose();
  }

  /** True once the reader has gone. */
  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** True while the reader has not taken what was sent. */
  get isFull(): boolean {
    return this.#isFull;
  }

  /** True once, each time that a ping is due. */
  takePing(): boolean {
    const isDue = this.#isPingDue;
    this.#isPingDue = false;
    return isDue;
  }

  /** Sends the headers at once and lets pings become due. Keep-alive is left to the protocol: HTTP/1.0 and `close` have none. */
  open(): void {
    if (this.#isClosed) return;
    this.response
      .status(200)
      // Not `set`, which would add a charset: the type has none, it is always UTF-8.
      .setHeader('content-type', 'text/event-stream')
      .setHeader('cache-control', 'no-store, no-transform')
      .setHeader('x-accel-buffering', 'no');
    this.response.flushHeaders();
    this.#timer = setInterval(() => {
      this.#isPingDue = true;
      this.wake();
    }, this.pingIntervalMs);
  }

  /** Tells an EventSource to come back soon; other readers have their own pace. */
  async sendRetry(): Promise<void> {
    await this.send(RETRY);
  }

  /**
   * Sends bytes, and waits where the reader is slower than they come. Resolves with {@link isFull} where it has stopped
   * reading; the next send waits until it goes on.
   */
  async send(bytes: Buffer): Promise<void> {
    await this.drained();
    if (this.#isClosed || this.response.write(bytes)) return;
    this.#isFull = true;
    const stalled = setTimeout(() => {
      this.#drainer?.();
    }, STALL_MS);
    await this.#taken();
    clearTimeout(stalled);
  }

  /** Resolves when the reader has taken what was sent, or has gone. */
  async drained(): Promise<void> {
    if (this.#isFull) await this.#taken();
  }

  async sendMessage(event: StreamEventName, data: unknown, id?: string): Promise<void> {
    await this.send(renderMessage(event, data, id));
  }

  /** Ends the sleep that runs, or the next one before it begins. */
  wake(): void {
    this.#isAwake = true;
    this.#sleeper?.();
  }

  /** Resolves at the next {@link wake}, at once where one has come since the last sleep. */
  async sleep(): Promise<void> {
    if (!this.#isAwake) {
      await new Promise<void>((resolve) => {
        this.#sleeper = resolve;
      });
      this.#sleeper = null;
    }
    this.#isAwake = false;
  }

  /** Ends the response; what was sent is delivered first. */
  end(): void {
    if (!this.#isClosed) this.response.end();
  }

  /** Lets the connection go, which may serve further requests. To be called however the stream ends, or does not begin. */
  release(): void {
    clearInterval(this.#timer);
    this.response.req.socket.off('close', this.#onClose);
  }

  readonly #onDrain = (): void => {
    this.#isFull = false;
    this.#drainer?.();
  };

  readonly #onClose = (): void => {
    this.#isClosed = true;
    this.release();
    this.#onDrain();
    this.wake();
  };

  #taken(): Promise<void> {
    return new Promise<void>((resolve) => {
      this.#drainer = resolve;
    });
  }
}
