import { afterEach, describe, expect, it } from 'vitest';
import { ScriptedModelServer, type Reply, type Script } from '../support/scripted-model-server.js';
import { adapterAt, attempt, blobs, failureOf, requestOf, says, WIRES } from './both-wires.js';

const servers: ScriptedModelServer[] = [];
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close()));
});

async function start(script: Script): Promise<ScriptedModelServer> {
  const server = await ScriptedModelServer.start({ script });
  servers.push(server);
  return server;
}

const CANCELLED = new Error('cancelled by the user');

describe.each(WIRES)('the connection over %s', (wire) => {
  it.each<[string, Reply]>([
    ['waits for headers', { connection: 'silence' }],
    ['is silent', { text: 'I was', accident: { afterEvents: 3, what: 'silence' } }],
    ['pings', { text: 'I was', accident: { afterEvents: 3, what: 'pings' } }],
    ['streams', { text: 'x'.repeat(500), pieces: 500, delayMs: 5 }],
  ])('closes at once on an abort while it %s, and the reason is thrown', async (_name, reply) => {
    const server = await start([reply]);
    const abort = new AbortController();
    const running = failureOf(
      attempt(adapterAt(server.url, wire), requestOf([says('Go')]), { signal: abort.signal }),
    );
    const request = await server.request(1);
    await new Promise((resolve) => setTimeout(resolve, 30));
    const at = Date.now();
    abort.abort(CANCELLED);
    expect(await running).toBe(CANCELLED);
    const closed = await request.closed;
    expect(closed.early).toBe(true);
    expect(closed.at - at).toBeLessThan(500);
  });

  it('is not opened where the signal is aborted already', async () => {
    const server = await start([{ text: 'Yes' }]);
    const reading = attempt(adapterAt(server.url, wire), requestOf([says('Go')]), {
      signal: AbortSignal.abort(CANCELLED),
    });
    expect(await failureOf(reading)).toBe(CANCELLED);
    expect(server.requests).toEqual([]);
  });

  it('closes at once on an abort while nobody reads from it', async () => {
    const server = await start([{ text: 'x'.repeat(100), pieces: 100, delayMs: 5 }]);
    const abort = new AbortController();
    const stream = adapterAt(server.url, wire)
      .stream(requestOf([says('Go')]), { signal: abort.signal, readBlob: blobs() })
      [Symbol.asyncIterator]();
    await stream.next();
    abort.abort(CANCELLED);
    expect((await server.requests[0]!.closed).early).toBe(true);
    expect(await failureOf(stream.next())).toBe(CANCELLED);
  });

  it('closes where the reader leaves', async () => {
    const server = await start([{ text: 'x'.repeat(100), pieces: 100, delayMs: 5 }]);
    const signal = new AbortController().signal;
    for await (const chunk of adapterAt(server.url, wire).stream(requestOf([says('Go')]), {
      signal,
      readBlob: blobs(),
    })) {
      if (chunk.type === 'text-delta') break;
    }
    expect((await server.requests[0]!.closed).early).toBe(true);
  });

  it('ends on an abort inside of an error with the reason, not with the error', async () => {
    const server = await start([{ status: 500, body: 'x', headers: { 'content-length': '1000' } }]);
    const abort = new AbortController();
    const running = failureOf(
      attempt(adapterAt(server.url, wire), requestOf([says('Go')]), { signal: abort.signal }),
    );
    await (
      await server.request(1)
    ).closed;
    abort.abort(CANCELLED);
    expect(await running).toBe(CANCELLED);
  });

  it('serves again after a complete answer', async () => {
    const server = await start(() => ({ text: 'Yes' }));
    const adapter = adapterAt(server.url, wire);
    for (let turn = 0; turn < 5; turn += 1) await attempt(adapter, requestOf([says('Go')]));
    expect(new Set(server.requests.map(({ clientPort }) => clientPort)).size).toBeLessThan(5);
  });

  it('is made anew where the provider had closed it while it was idle', async () => {
    const known = new Set<number | undefined>();
    let resets = 0;
    const server = await start(({ clientPort }) => {
      if (known.has(clientPort)) {
        resets += 1;
        return { connection: 'reset' };
      }
      known.add(clientPort);
      return { text: 'Yes' };
    });
    const adapter = adapterAt(server.url, wire);
    for (let turn = 0; turn < 20 && resets === 0; turn += 1) {
      const { content } = await attempt(adapter, requestOf([says('Go')]));
      expect(content).toEqual([{ type: 'text', text: 'Yes' }]);
    }
    expect(resets).toBeGreaterThan(0);
  });

  it('ends an attempt with the finish that the provider sent, though the connection stays open', async () => {
    const events = wire === 'messages' ? ANTHROPIC_EVENTS : OPENAI_EVENTS;
    const server = await start([{ raw: [events], accident: 'silence' }]);
    const { assembler } = await attempt(adapterAt(server.url, wire), requestOf([says('Go')]));
    expect(assembler.finish).toBe('stop');
  });
});

const OPENAI_EVENTS =
  'data: {"choices":[{"delta":{"content":"Yes"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n';
const ANTHROPIC_EVENTS = [
  { type: 'message_start', message: {} },
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: 'Yes' } },
  { type: 'content_block_stop', index: 0 },
  { type: 'message_delta', delta: { stop_reason: 'end_turn' } },
  { type: 'message_stop' },
]
  .map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
  .join('');
