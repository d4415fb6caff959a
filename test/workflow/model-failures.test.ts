import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import type { SessionEvent } from '../../src/contract/events.js';
import type { SessionUid } from '../../src/contract/ids.js';
import { ScriptedModelServer, type Reply } from '../support/scripted-model-server.js';
import { dataOf } from '../support/turn-setup.js';
import { startTurnRuntime, type TurnRuntime } from '../support/turn-runtime.js';

const WIRES = ['chat-completions', 'messages'] as const;
type NetworkWire = (typeof WIRES)[number];

/** Which delay `llm/retry` names: as the provider asked, in milliseconds, or the first one of the back-off. */
type Delay = number | 'backoff';

interface Row {
  readonly seen: string;
  /** What the first request gets; the second one gets an answer. A port where nobody listens for `nobody`. */
  readonly reply: Reply | 'nobody' | ((wire: NetworkWire) => Reply);
  readonly code: string;
  /** Absent: it is not tried again. */
  readonly retried?: Delay;
  /** Default as it must be: 2 where it is tried again, else 1. */
  readonly requests?: number;
  readonly provider?: object;
}

const named = (type: string, message = 'no') => ({ error: { type, message } });
const inStream = (type: string, message = 'no'): Reply => ({
  text: 'Hello wor',
  accident: { afterEvents: 3, what: { error: { type, message } } },
});
const refused = (status: number, body: unknown = {}): Reply => ({ status, body });
/** Short, and yet longer than a busy machine takes for the answer of the second attempt. */
const LIMIT_MS = 1500;
const QUICK = { timeouts: { silenceMs: LIMIT_MS, stallMs: 60_000 } };

/** The failure table of the wires, row by row. */
const ROWS: readonly Row[] = [
  { seen: '401', reply: refused(401), code: 'AUTH' },
  { seen: '403', reply: refused(403), code: 'AUTH' },
  {
    seen: 'a key that is missing',
    reply: refused(500),
    code: 'MISSING_CREDENTIAL',
    requests: 0,
    provider: { apiKeyEnv: 'NO_SUCH_KEY' },
  },
  {
    seen: '400 that names the context length',
    reply: refused(400, named('invalid_request_error', 'prompt is too long: 300000 tokens > 200000 maximum')),
    code: 'CONTEXT_WINDOW_EXCEEDED',
  },
  { seen: '400', reply: refused(400, named('invalid_request_error')), code: 'INVALID_REQUEST' },
  { seen: '404', reply: refused(404), code: 'INVALID_REQUEST' },
  { seen: '413', reply: refused(413), code: 'INVALID_REQUEST' },
  { seen: '422', reply: refused(422), code: 'INVALID_REQUEST' },
  { seen: '402', reply: refused(402), code: 'QUOTA' },
  { seen: '429 with quota words', reply: refused(429, named('insufficient_quota')), code: 'QUOTA' },
  { seen: '429', reply: refused(429), code: 'RATE_LIMIT', retried: 'backoff' },
  {
    seen: '429 with a wait in seconds',
    reply: { status: 429, headers: { 'retry-after': '1' } },
    code: 'RATE_LIMIT',
    retried: 1000,
  },
  {
    seen: '429 with a wait in milliseconds, which wins',
    reply: { status: 429, headers: { 'retry-after-ms': '250', 'retry-after': '600' } },
    code: 'RATE_LIMIT',
    retried: 250,
  },
  {
    seen: '429 that is not to be tried again',
    reply: { status: 429, headers: { 'x-should-retry': 'false', 'retry-after': '1' } },
    code: 'RATE_LIMIT',
  },
  {
    seen: '400 that is to be tried again',
    reply: { status: 400, headers: { 'x-should-retry': 'true' } },
    code: 'INVALID_REQUEST',
    retried: 'backoff',
  },
  { seen: '408', reply: refused(408), code: 'SERVER', retried: 'backoff' },
  { seen: '409', reply: refused(409), code: 'SERVER', retried: 'backoff' },
  { seen: '500', reply: refused(500), code: 'SERVER', retried: 'backoff' },
  { seen: '503', reply: refused(503), code: 'SERVER', retried: 'backoff' },
  { seen: '529', reply: refused(529, named('overloaded_error')), code: 'SERVER', retried: 'backoff' },
  {
    seen: 'a port where nobody listens',
    reply: 'nobody',
    code: 'TRANSPORT',
    retried: 'backoff',
    requests: 0,
  },
  {
    seen: 'a reset before the answer',
    reply: { connection: 'reset' },
    code: 'TRANSPORT',
    retried: 'backoff',
  },
  {
    seen: 'a reset inside of the answer',
    reply: { text: 'Hello wor', accident: { afterEvents: 3, what: 'reset' } },
    code: 'TRANSPORT',
    retried: 'backoff',
  },
  {
    seen: 'silence before the answer',
    reply: { connection: 'silence' },
    code: 'TIMEOUT',
    retried: 'backoff',
    provider: QUICK,
  },
  {
    seen: 'silence inside of the answer',
    reply: { text: 'Hello wor', accident: { afterEvents: 3, what: 'silence' } },
    code: 'TIMEOUT',
    retried: 'backoff',
    provider: QUICK,
  },
  {
    seen: 'pings and no content',
    reply: { text: 'Hello wor', accident: { afterEvents: 3, what: 'pings' } },
    code: 'TIMEOUT',
    retried: 'backoff',
    provider: { timeouts: { silenceMs: 60_000, stallMs: LIMIT_MS } },
  },
  {
    seen: 'an answer that ends early',
    reply: { text: 'Hello wor', accident: { afterEvents: 3, what: 'cut' } },
    code: 'STREAM_CLOSED',
    retried: 'backoff',
  },
  {
    seen: 'an answer without its finish reason',
    reply: { text: 'Hello wor', finish: null },
    code: 'STREAM_CLOSED',
    retried: 'backoff',
  },
  {
    seen: 'an event that is no JSON',
    reply: { raw: ['data: {oops\n\n'] },
    code: 'MALFORMED_RESPONSE',
    retried: 'backoff',
  },
  { seen: 'an answer of nothing', reply: { text: '' }, code: 'EMPTY_RESPONSE', retried: 'backoff' },
  {
    seen: 'an error event that says overloaded',
    reply: inStream('overloaded_error'),
    code: 'SERVER',
    retried: 'backoff',
  },
  {
    seen: 'an error event that says rate limit',
    reply: inStream('rate_limit_error'),
    code: 'RATE_LIMIT',
    retried: 'backoff',
  },
  {
    seen: 'an error event that says authentication',
    reply: inStream('authentication_error'),
    code: 'AUTH',
  },
  {
    seen: 'an error event with a finish after it',
    reply: (wire) => ({ raw: errorThenFinish(wire) }),
    code: 'SERVER',
    retried: 'backoff',
  },
  {
    seen: 'a refusal',
    reply: (wire) => ({ text: 'No.', finish: wire === 'messages' ? 'refusal' : 'content_filter' }),
    code: 'CONTENT_FILTER',
  },
];

describe.each(WIRES)('of a turn over %s', (wire) => {
  const turns = new Map<string, { uid: SessionUid; model: ScriptedModelServer }>();
  let runtime: TurnRuntime;

  // Every row has a provider of its own in one runtime, and all turns run at once.
  beforeAll(async () => {
    const models = await Promise.all(
      ROWS.map((row) =>
        ScriptedModelServer.start({
          script: ({ number }) => {
            const reply = typeof row.reply === 'function' ? row.reply(wire) : row.reply;
            return number === 1 && reply !== 'nobody' ? reply : { text: 'Hello world' };
          },
        }),
      ),
    );
    const nobody = await ScriptedModelServer.start({ script: [] });
    const nobodyUrl = nobody.url;
    await nobody.close();
    runtime = await startTurnRuntime({
      temporalAddress: inject('temporalAddress'),
      modelUrl: nobodyUrl,
      wire,
      // All turns at once may take longer than the heartbeat of other tests.
      policy: { heartbeatMs: 10_000 },
      providers: Object.fromEntries(
        ROWS.map((row, n) => [
          `row-${String(n)}`,
          { baseUrl: row.reply === 'nobody' ? nobodyUrl : models[n]!.url, attempts: 2, ...row.provider },
        ]),
      ),
    });
    for (const [n, { seen }] of ROWS.entries()) {
      const uid = await runtime.createSession({ provider: `row-${String(n)}`, model: 'scripted-model' });
      turns.set(seen, { uid, model: models[n]! });
      await runtime.prompt(uid, 'go');
    }
  });
  afterAll(async () => {
    await runtime.stop();
    await Promise.all([...turns.values()].map(({ model }) => model.close()));
  });

  it.each(ROWS.map((row) => [row.seen, row] as const))(
    '%s has its code, its delay and its number of requests',
    async (seen, row) => {
      const { uid, model } = turns.get(seen)!;
      const { reason, output } = await runtime.ended(uid, 1);
      const events = await runtime.events(uid);
      const attempts = dataOf(events, 'assistant/attempt');
      const retries = dataOf(events, 'llm/retry');
      expect(attempts[0]).toMatchObject({ attempt: 1, outcome: 'failed', failure: { code: row.code } });
      expect(model.requests).toHaveLength(row.requests ?? (row.retried === undefined ? 1 : 2));
      expect(model.refusals).toEqual([]);
      if (row.retried === undefined) {
        expect(reason).toMatchObject({ kind: 'error', code: row.code });
        expect(retries).toEqual([]);
        return;
      }
      const [retry] = retries;
      expect(retry).toMatchObject({
        attempt: 1,
        code: row.code,
        from: row.retried === 'backoff' ? 'backoff' : 'retry-after',
      });
      expectDelay(retry!.delayMs, row.retried);
      expectWait(events, retry!.delayMs);
      if (row.reply === 'nobody') {
        expect(reason).toMatchObject({ kind: 'error', code: row.code });
        expect(attempts).toHaveLength(2);
        return;
      }
      // What a failed attempt had shown is withdrawn, and the answer stands there once.
      expect({ reason, output }).toEqual({ reason: { kind: 'completed' }, output: 'Hello world' });
      expect(dataOf(events, 'assistant/message').map(({ attempt }) => attempt)).toEqual([2]);
      expect(model.requests[1]?.raw).toBe(model.requests[0]?.raw);
    },
  );
});

function expectDelay(delayMs: number, expected: Delay): void {
  if (expected === 'backoff') {
    expect(delayMs).toBeGreaterThanOrEqual(450);
    expect(delayMs).toBeLessThanOrEqual(550);
  } else expect(delayMs).toBe(expected);
}

/** The next attempt did not begin before the delay was over. */
function expectWait(events: readonly SessionEvent[], delayMs: number): void {
  const failedAt = events.find(({ type }) => type === 'llm/retry')?.at ?? '';
  const next = events.flatMap((event) =>
    event.type === 'assistant/message' ? [event.data.timing.requestedAt] : [],
  );
  for (const at of next) expect(Date.parse(at) - Date.parse(failedAt)).toBeGreaterThanOrEqual(delayMs - 5);
}

function errorThenFinish(wire: NetworkWire): string[] {
  return wire === 'messages'
    ? [
        'event: message_start\ndata: {"type":"message_start","message":{}}\n\n',
        'event: error\ndata: {"type":"error","error":{"type":"api_error","message":"no"}}\n\n',
        'event: message_delta\ndata: {"type":"message_delta","delta":{"stop_reason":"end_turn"}}\n\n',
        'event: message_stop\ndata: {"type":"message_stop"}\n\n',
      ]
    : [
        'data: {"choices":[{"delta":{"content":"Hello"}}]}\n\n',
        'data: {"error":{"type":"server_error","message":"no"}}\n\n',
        'data: {"choices":[{"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n',
      ];
}
