/** A reader over a bare socket that takes the beginning of a stream and then stops reading, until a test has it go on. */
import { connect, type Socket } from 'node:net';

export class StalledReader {
  readonly closed: Promise<void>;
  #received = '';
  #check: () => void = () => undefined;

  private constructor(readonly socket: Socket) {
    this.closed = new Promise((resolve) => {
      socket.once('close', () => {
        resolve();
      });
    });
    socket.setEncoding('utf8').on('data', (part: string) => {
      this.#received += part;
      this.#check();
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
    return this.#received;
  }

  /** All that has come, once the text is in it. */
  async until(text: string): Promise<string> {
    await new Promise<void>((resolve) => {
      this.#check = () => {
        if (this.#received.includes(text)) resolve();
      };
      this.#check();
    });
    return this.#received;
  }

  close(): void {
    this.socket.destroy();
  }
}
