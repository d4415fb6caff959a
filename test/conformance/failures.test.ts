import { afterEach, describe, expect, it } from 'vitest';
import { ModelFailure } from '../../src/model/model-failure.js';
import { ScriptedModelServer, type Reply } from '../support/scripted-model-server.js';
import {
  adapterAt,
  API_KEY,
  attempt,
  failureOf,
  requestOf,
  says,
  WIRES,
  type ModelOptions,
} from './both-wires.js';

const servers: ScriptedModelServer[] = [];
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close()));
});

async function start(script: readonly Reply[]): Promise<ScriptedModelServer> {
  const server = await ScriptedModelServer.start({ script });
  servers.push(server);
  return server;
}

describe.each(WIRES)('a failed attempt over %s', (wire) => {
  async function failureOn(reply: Reply, options: ModelOptions = {}): Promise<unknown> {
    const server = await start([reply]);
    return failureOf(attempt(adapterAt(server.url, wire, options), requestOf([says('Go')])));
  }

  it.each<[string, Reply, Partial<ModelFailure>]>([
    ['401', { status: 401 }, { code: 'AUTH', retryable: false, status: 401, providerRequestId: 'req_1' }],
    [
      'a redirect',
      { status: 307, headers: { location: '/elsewhere' } },
      { code: 'INVALID_REQUEST', retryable: false },
    ],
    ['402', { status: 402 }, { code: 'QUOTA', retryable: false }],
    [
      '429 with a wait',
      { status: 429, headers: { 'retry-after-ms': '1200', 'retry-after': '9' } },
      { code: 'RATE_LIMIT', retryable: true, retryAfterMs: 1200 },
    ],
    ['500', { status: 500 }, { code: 'SERVER', retryable: true }],
    [
      '503 that is not to be retried',
      { status: 503, headers: { 'x-should-retry': 'false' } },
      { code: 'SERVER', retryable: false },
    ],
    ['a reset before the answer', { connection: 'reset' }, { code: 'TRANSPORT', retryable: true }],
    [
      'a reset inside of the answer',
      { text: 'I was', accident: { afterEvents: 3, what: 'reset' } },
      { code: 'TRANSPORT', retryable: true },
    ],
    [
      'a connection that ends inside of the answer',
      { text: 'I was', accident: { afterEvents: 3, what: 'cut' } },
      { code: 'STREAM_CLOSED', retryable: true, providerRequestId: 'req_1' },
    ],
    ['an answer that is over before its end', { raw: ['data: {"type":"ping"'] }, { code: 'STREAM_CLOSED' }],
    ['an answer that holds nothing', { text: '' }, { code: 'EMPTY_RESPONSE', retryable: true }],
    [
      'an event that is no JSON',
      { raw: ['data: {oops\n\n', 'data: {}\n\n'] },
      { code: 'MALFORMED_RESPONSE' },
    ],
    [
      'an answer that is a page',
      { status: 200, body: '<p>Hi</p>', headers: { 'content-type': 'text/html' } },
      { code: 'MALFORMED_RESPONSE' },
    ],
    ['an answer that is no stream', { status: 200, body: { choices: [] } }, { code: 'MALFORMED_RESPONSE' }],
    [
      'an error under the status 200',
      { status: 200, body: { error: { type: 'rate_limit_error', message: 'slow' } } },
      { code: 'RATE_LIMIT' },
    ],
    [
      'an error event in the stream',
      {
        text: 'I was',
        accident: { afterEvents: 3, what: { error: { type: 'overloaded_error', message: 'busy' } } },
      },
      { code: 'SERVER', retryable: true },
    ],
    ['silence before the headers', { connection: 'silence' }, { code: 'TIMEOUT', retryable: true }],
    [
      'silence inside of the answer',
      { text: 'I was', accident: { afterEvents: 3, what: 'silence' } },
      { code: 'TIMEOUT', retryable: true, providerRequestId: 'req_1' },
    ],
  ])('of %s has its code', async (_name, reply, expected) => {
    const failure = await failureOn(reply, { silenceMs: 150, stallMs: 5000 });
    expect(failure).toBeInstanceOf(ModelFailure);
    expect(failure).toMatchObject(expected);
  });

  it('of content filter or refusal is CONTENT_FILTER', async () => {
    const finish = wire === 'messages' ? 'refusal' : 'content_filter';
    expect(await failureOn({ text: 'No', finish })).toMatchObject({
      code: 'CONTENT_FILTER',
      retryable: false,
    });
  });

  it('without a finish reason is STREAM_CLOSED', async () => {
    expect(await failureOn({ text: 'Yes', finish: null })).toMatchObject({ code: 'STREAM_CLOSED' });
  });

  it('that only pings is a timeout by stallMs, and its socket is closed', async () => {
    const server = await start([{ text: 'I was', accident: { afterEvents: 3, what: 'pings' } }]);
    const adapter = adapterAt(server.url, wire, { silenceMs: 5000, stallMs: 150 });
    const failure = await failureOf(attempt(adapter, requestOf([says('Go')])));
    expect(failure).toMatchObject({
      code: 'TIMEOUT',
      message: expect.stringContaining('no content') as unknown,
    });
    expect((await server.requests[0]!.closed).early).toBe(true);
  });

  it('does not time out while the caller is slow', async () => {
    const server = await start([{ text: 'one two three four', pieces: 4 }]);
    const adapter = adapterAt(server.url, wire, { silenceMs: 60, stallMs: 60 });
    const signal = new AbortController().signal;
    const readBlob = () => Promise.reject(new Error('none'));
    let chunks = 0;
    for await (const chunk of adapter.stream(requestOf([says('Go')]), { signal, readBlob })) {
      if (chunk.type === 'text-delta' && chunks++ < 2)
        await new Promise((resolve) => setTimeout(resolve, 100));
    }
    expect(chunks).toBeGreaterThan(2);
  });

  it('carries what the provider had said about usage', async () => {
    const failure = await failureOn(
      wire === 'messages'
        ? { text: 'I was', accident: { afterEvents: 3, what: 'cut' } }
        : { text: 'Yes', finish: null },
    );
    expect(failure).toMatchObject({ usage: { inputTokens: 10 } });
  });

  it('where nobody listens is TRANSPORT', async () => {
    const server = await start([]);
    const { url } = server;
    await server.close();
    servers.splice(0);
    expect(await failureOf(attempt(adapterAt(url, wire), requestOf([says('Go')])))).toMatchObject({
      code: 'TRANSPORT',
    });
  });

  it('keeps the key out of its message', async () => {
    const failure = await failureOn({
      status: 401,
      body: { error: { message: `The key ${API_KEY} is wrong` } },
    });
    expect((failure as ModelFailure).message).toContain('is wrong');
    expect((failure as ModelFailure).message).not.toContain(API_KEY);
  });
});
