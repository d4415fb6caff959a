/**
 * The connection of one follower: headers, backpressure, pings and its end.
 *
 * Owns no buffer of its own. Where the socket is full, whoever sends waits; nothing is kept for a reader that does not read.
 */
import type { Response } from 'express';
import { renderMessage } from './stream-item.js';

export class EventStream {
  #isClosed = false;
  #isPingDue = false;
  #isAwake = false;
  #sleeper: (() => void) | null = null;
  #drainer: (() => void) | null = null;
  #timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly response: Response,
    private readonly pingIntervalMs: number,
  ) {
    response.once('close', () => {
      this.#isClosed = true;
      clearInterval(this.#timer);
      this.#drainer?.();
      this.wake();
    });
    response.on('drain', () => this.#drainer?.());
  }

  /** True once the reader has gone. */
  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** True once, each time that a ping is due. */
  takePing(): boolean {
    const isDue = this.#isPingDue;
    this.#isPingDue = false;
    return isDue;
  }

  /** Sends the headers at once and lets pings become due. */
  open(): void {
    this.response
      .status(200)
      // Not `set`, which would add a charset: the type has none, it is always UTF-8.
      .setHeader('content-type', 'text/event-stream')
      .setHeader('cache-control', 'no-store, no-transform')
      .setHeader('x-accel-buffering', 'no')
      .setHeader('connection', 'keep-alive');
    this.response.flushHeaders();
    this.#timer = setInterval(() => {
      this.#isPingDue = true;
      this.wake();
    }, this.pingIntervalMs);
  }

  /** Sends bytes, and waits where the reader is slower than they come. */
  async send(bytes: Buffer): Promise<void> {
    if (this.#isClosed || this.response.write(bytes)) return;
    await new Promise<void>((resolve) => {
      this.#drainer = resolve;
    });
    this.#drainer = null;
  }

  async sendMessage(event: 'state' | 'ping' | 'end', data: unknown, id?: string): Promise<void> {
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
    clearInterval(this.#timer);
    if (!this.#isClosed) this.response.end();
  }
}
