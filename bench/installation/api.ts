/** A bare client of the HTTP API: one kept connection and nothing between the socket and the measured instant. */
import { Agent, request } from 'node:http';
import { nowMs } from '../clock.js';

export interface ApiAnswer<T> {
  readonly status: number;
  readonly body: T;
  /** Just before the request was written and when the answer's headers were read, as of `nowMs`. */
  readonly sentAt: number;
  readonly answeredAt: number;
}

export class Api {
  readonly #agent = new Agent({ keepAlive: true });

  constructor(readonly url: string) {}

  /** @throws Error for an answer of 400 or above, with its text. */
  call<T>(method: 'GET' | 'POST' | 'DELETE', path: string, body?: unknown): Promise<ApiAnswer<T>> {
    const text = body === undefined ? undefined : JSON.stringify(body);
    return new Promise((resolve, reject) => {
      const outgoing = request(`${this.url}${path}`, {
        method,
        agent: this.#agent,
        headers:
          text === undefined
            ? {}
            : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) },
      });
      outgoing.once('error', reject);
      outgoing.once('response', (response) => {
        const answeredAt = nowMs();
        const parts: Buffer[] = [];
        response.on('data', (part: Buffer) => parts.push(part));
        response.once('error', reject);
        response.once('end', () => {
          const status = response.statusCode ?? 0;
          const said = Buffer.concat(parts).toString('utf8');
          if (status >= 400) reject(new Error(`${method} ${path}: ${String(status)} ${said}`));
          else
            resolve({ status, body: (said === '' ? undefined : JSON.parse(said)) as T, sentAt, answeredAt });
        });
      });
      const sentAt = nowMs();
      outgoing.end(text);
    });
  }

  close(): void {
    this.#agent.destroy();
  }
}
