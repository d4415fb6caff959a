/** A reader over a bare socket that takes the beginning of a stream and then stops reading, until a test has it go on. */
import { connect, type Socket } from 'node:net';

export class StalledReader {
  readonly closed: Promise<void>;
  readonly #parts: string[] = [];
  #onPart: () => void = () => undefined;

  private constructor(readonly socket: Socket) {
    this.closed = new Promise((resolve) => {
      socket.once('close', () => {
        resolve();
      });
    });
    socket.setEncoding('utf8').on('data', (part: string) => {
      this.#parts.push(part);
      this.#onPart();
    });
  }

  /** Opens the stream and stops reading once the text has come. */
  static async open(url: string, text: string): Promise<StalledReader> {
    const { hostname, port, pathname } = new URL(url);
    const reader = new StalledReader(connect(Number(port), hostname));
    reader.socket.write(`GET ${pathname} HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n`);
    await reader.until(text);
    reader.socket.pause();
    return reader;
  }

  /** All that has come. */
  get received(): string {
    return this.#parts.join('');
  }

  /** All that has come, once the text is in it. */
  async until(text: string): Promise<string> {
    let next = 0;
    // The text may lie over two parts; what was looked at is not looked at again, for there may be very much.
    let end = '';
    await new Promise<void>((resolve) => {
      this.#onPart = () => {
        for (; next < this.#parts.length; next += 1) {
          end += this.#parts[next] ?? '';
          if (end.includes(text)) resolve();
          end = end.slice(-text.length);
        }
      };
      this.#onPart();
    });
    return this.received;
  }

  close(): void {
    this.socket.destroy();
  }
}
