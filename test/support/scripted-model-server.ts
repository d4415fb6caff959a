/**
 * A model provider that is played from a script, over real HTTP and on both wires, for the tests of all tiers.
 *
 * It answers what the script says, but 400 to every request that a real provider would refuse. The wire is chosen by the
 * path: `…/chat/completions` or `…/v1/messages`.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import {
  errorEvent,
  eventsOf,
  pingEvent,
  type Accident,
  type Answer,
  type RawReply,
  type Reply,
  type ScriptedWire,
  type StatusReply,
} from './scripted-model/replies.js';
import { checkChatCompletions } from './scripted-model/strict-chat-completions.js';
import {
  checkUnicode,
  fields,
  refuse,
  Refusal,
  type Fields,
  type StrictOptions,
} from './scripted-model/strict-checks.js';
import { checkMessagesRequest } from './scripted-model/strict-messages.js';

export type { Accident, Answer, Reply, ScriptedCall, ScriptedUsage } from './scripted-model/replies.js';

/** A request as it came. */
export interface RecordedRequest {
  /** From 1. */
  readonly number: number;
  readonly wire: ScriptedWire;
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  /** The client's end of the connection: equal for requests that shared one. */
  readonly clientPort: number | undefined;
  /** The body's bytes as text. */
  readonly raw: string;
  /** The parsed body; `{}` where it is no JSON. */
  readonly body: Fields;
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** Why it was answered with 400. */
  readonly refusal?: string;
  /** Resolves when the exchange is over, however it ended. */
  readonly closed: Promise<ExchangeEnd>;
}

export interface ExchangeEnd {
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** Whether the socket closed before the answer was sent to its end. */
  readonly early: boolean;
}

/** Replies in their order, or a reply for each request. */
export type Script = readonly Reply[] | ((request: RecordedRequest) => Reply | Promise<Reply>);

export interface ScriptedModelServerOptions extends StrictOptions {
  readonly script: Script;
  /** Requires this key, in the header of the wire. */
  readonly apiKey?: string;
  /** Default 0: any free port. */
  readonly port?: number;
}

const PING_INTERVAL_MS = 5;
const RESET_DELAY_MS = 100;

export class ScriptedModelServer {
  /** All requests so far, those that were refused too. */
  readonly requests: RecordedRequest[] = [];
  readonly #options: ScriptedModelServerOptions;
  readonly #server: Server;
  readonly #waiting: { readonly number: number; readonly resolve: (request: RecordedRequest) => void }[] = [];

  private constructor(options: ScriptedModelServerOptions) {
    this.#options = options;
    this.#server = createServer((request, response) => {
      this.#answer(request, response).catch((error: unknown) => {
        response.destroy(error as Error);
      });
    });
  }

  static async start(options: ScriptedModelServerOptions): Promise<ScriptedModelServer> {
    const server = new ScriptedModelServer(options);
    await new Promise<void>((resolve) => server.#server.listen(options.port ?? 0, '127.0.0.1', resolve));
    return server;
  }

  /** The base URL for a provider's entry, on either wire. */
  get url(): string {
    return `http://127.0.0.1:${String((this.#server.address() as AddressInfo).port)}`;
  }

  /** What the server answered 400 to; empty in a test that goes well. */
  get refusals(): string[] {
    return this.requests.flatMap(({ refusal }) => (refusal === undefined ? [] : [refusal]));
  }

  /** The request of this number, from 1, as soon as it has come. */
  request(number: number): Promise<RecordedRequest> {
    const known = this.requests[number - 1];
    if (known !== undefined) return Promise.resolve(known);
    return new Promise((resolve) => this.#waiting.push({ number, resolve }));
  }

  /** Closes the port and every connection. */
  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.#server.closeAllConnections();
    await closed;
  }

  async #answer(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const closed = new Promise<ExchangeEnd>((resolve) => {
      response.once('close', () => {
        resolve({ at: Date.now(), early: !response.writableFinished });
      });
    });
    const parts: Buffer[] = [];
    for await (const part of incoming) parts.push(part as Buffer);
    const raw = Buffer.concat(parts).toString('utf8');
    const request = this.#recorded(incoming, raw, closed);
    const reply =
      request.refusal === undefined
        ? await this.#reply(request)
        : refusalReply(request.wire, request.refusal);
    await deliver(reply, request, response);
  }

  #recorded(incoming: IncomingMessage, raw: string, closed: Promise<ExchangeEnd>): RecordedRequest {
    const path = incoming.url ?? '';
    const wire = path.includes('/chat/completions') ? 'chat-completions' : 'messages';
    const refusal = this.#refusal(incoming, raw, wire);
    const request: RecordedRequest = {
      number: this.requests.length + 1,
      wire,
      path,
      headers: incoming.headers,
      clientPort: incoming.socket.remotePort,
      raw,
      body: parsed(raw),
      at: Date.now(),
      closed,
      ...(refusal === undefined ? {} : { refusal }),
    };
    this.requests.push(request);
    for (const { number, resolve } of this.#waiting) if (number === request.number) resolve(request);
    return request;
  }

  #refusal({ method, url, headers }: IncomingMessage, raw: string, wire: ScriptedWire): string | undefined {
    try {
      refuse(
        method !== 'POST' || !/\/(?:chat\/completions|v1\/messages)(?:\?|$)/.test(url ?? ''),
        'no such endpoint',
      );
      refuse((url ?? '').includes('/v1/v1/'), 'the version stands twice in the path');
      refuse(headers['content-type'] !== 'application/json', 'content-type must be application/json');
      refuse(
        wire === 'messages' && headers['anthropic-version'] === undefined,
        'anthropic-version is required',
      );
      const { apiKey } = this.#options;
      const given =
        wire === 'messages' ? headers['x-api-key'] : headers.authorization?.replace(/^Bearer /, '');
      refuse(apiKey !== undefined && given !== apiKey, 'the key is wrong');
      checkUnicode(raw);
      const body = fields(JSON.parse(raw), 'body');
      if (wire === 'messages') checkMessagesRequest(body, this.#options);
      else checkChatCompletions(body, this.#options);
      return undefined;
    } catch (error) {
      if (error instanceof Refusal) return error.message;
      if (error instanceof SyntaxError) return 'the body is no JSON';
      throw error;
    }
  }

  async #reply(request: RecordedRequest): Promise<Reply> {
    const { script } = this.#options;
    if (typeof script === 'function') return script(request);
    const answered = this.requests.filter(({ refusal }) => refusal === undefined).length;
    return script[answered - 1] ?? { status: 500, body: { error: { message: 'the script has ended' } } };
  }
}

function parsed(raw: string): Fields {
  try {
    return fields(JSON.parse(raw), 'body');
  } catch {
    // Recorded as it came; the refusal says what is wrong with it.
    return {};
  }
}

function refusalReply(wire: ScriptedWire, message: string): StatusReply {
  const error = { type: 'invalid_request_error', message };
  return { status: 400, body: wire === 'messages' ? { type: 'error', error } : { error } };
}

async function deliver(reply: Reply, request: RecordedRequest, response: ServerResponse): Promise<void> {
  if ('connection' in reply) {
    if (reply.connection === 'reset') response.socket?.resetAndDestroy();
  } else if ('status' in reply) {
    const isText = typeof reply.body === 'string';
    response.writeHead(reply.status, {
      'content-type': isText ? 'text/plain' : 'application/json',
      'x-request-id': `req_${String(request.number)}`,
      ...reply.headers,
    });
    response.end(isText ? reply.body : JSON.stringify(reply.body ?? {}));
  } else await stream(reply, request, response);
}

async function stream(
  reply: Answer | RawReply,
  request: RecordedRequest,
  response: ServerResponse,
): Promise<void> {
  response.writeHead(200, {
    'content-type': 'text/event-stream',
    'x-request-id': `req_${String(request.number)}`,
    ...reply.headers,
  });
  response.flushHeaders();
  const isRaw = 'raw' in reply;
  const events = isRaw ? reply.raw : eventsOf(reply, request.wire, request.number);
  const count = isRaw ? events.length : (reply.accident?.afterEvents ?? events.length);
  for (const event of events.slice(0, count)) {
    if (reply.delayMs !== undefined) await wait(reply.delayMs);
    await send(response, event, reply.splitBytes);
  }
  const accident = isRaw ? reply.accident : reply.accident?.what;
  if (accident === undefined) response.end();
  else await happen(accident, request, response);
}

/** Sends the bytes in segments that reach the client one by one. */
async function send(
  response: ServerResponse,
  event: string | Uint8Array,
  splitBytes?: number,
): Promise<void> {
  const bytes = Buffer.from(event as string);
  const length = splitBytes ?? bytes.byteLength;
  for (let start = 0; start < bytes.byteLength; start += length) {
    if (response.destroyed) return;
    const part = bytes.subarray(start, start + length);
    await new Promise<void>((resolve) => {
      // A client that left makes the write fail; that is seen in `closed`.
      response.write(part, () => {
        resolve();
      });
    });
  }
}

async function happen(accident: Accident, request: RecordedRequest, response: ServerResponse): Promise<void> {
  switch (accident) {
    case 'cut':
      response.socket?.end();
      return;
    case 'reset':
      // Right after a write the reset would overtake the bytes, and reach the client as a mere end.
      await wait(RESET_DELAY_MS);
      response.socket?.resetAndDestroy();
      return;
    case 'silence':
      return;
    case 'pings':
      while (!response.destroyed) {
        await send(response, pingEvent(request.wire));
        await wait(PING_INTERVAL_MS);
      }
      return;
    default:
      await send(response, errorEvent(accident.error, request.wire));
      response.end();
  }
}
