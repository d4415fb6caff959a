/** Follows a session over HTTP and notes when each message of the stream has come. */
import { get, type IncomingMessage } from 'node:http';
import { createParser } from 'eventsource-parser';
import type { Frame } from '../../src/contract/chunks.js';
import type { SessionEvent } from '../../src/contract/events.js';
import { nowMs } from '../clock.js';
import { until } from '../until.js';

export interface FollowedFrame {
  readonly frame: Frame;
  /** When the bytes that completed it were read, as of `nowMs`. */
  readonly at: number;
}

export interface FollowedEvent {
  readonly event: SessionEvent;
  readonly at: number;
}

export class Follower {
  readonly frames: FollowedFrame[] = [];
  readonly #turnEnds = new Map<number, FollowedEvent>();

  private constructor(private readonly response: IncomingMessage) {
    let at = 0;
    const parser = createParser({
      onEvent: ({ event, data }) => {
        if (event === 'frame') this.frames.push({ frame: JSON.parse(data) as Frame, at });
        if (event !== 'event') return;
        const logged = JSON.parse(data) as SessionEvent;
        if (logged.type === 'turn/end') this.#turnEnds.set(logged.turn!, { event: logged, at });
      },
    });
    response.setEncoding('utf8');
    response.on('data', (text: string) => {
      at = nowMs();
      parser.feed(text);
    });
    // A server that is killed breaks the stream; what came before counts.
    response.on('error', () => undefined);
  }

  /** Attaches; resolves once the stream has begun. */
  static async start(url: string, sessionId: string): Promise<Follower> {
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      get(
        `${url}/v1/sessions/${sessionId}/events`,
        { headers: { accept: 'text/event-stream' }, agent: false },
        resolve,
      ).once('error', reject);
    });
    return new Follower(response);
  }

  /** The end of the turn, once it has come. */
  turnEnd(turn: number): Promise<FollowedEvent> {
    return until(`end of turn ${String(turn)}`, () => this.#turnEnds.get(turn));
  }

  /** A frame of the turn that shows text, once one has come. */
  shownText(turn: number): Promise<FollowedFrame> {
    return until(`text of turn ${String(turn)}`, () =>
      this.frames.find(
        ({ frame }) => frame.turn === turn && frame.chunks.some(({ type }) => type === 'text-delta'),
      ),
    );
  }

  close(): void {
    this.response.destroy();
  }
}
