import { Writable } from 'node:stream';
import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import type { Reply } from '../support/scripted-model-server.js';
import { turnSetup } from '../support/turn-setup.js';

const { startWithApi } = turnSetup();

const KEY = 'sk-planted-key-4f9a1c';
const HEADER = 'planted-header-77e0b2';
const PROMPT = 'planted-prompt-c31d58';
const ANSWER = 'planted-answer-e6a204';

// One for the whole file: the engine's own part of the process logs to the first that it is given.
const written: string[] = [];
const logger = pino(
  { level: 'trace' },
  new Writable({
    write: (part: Buffer, _encoding, done) => {
      written.push(part.toString('utf8'));
      done();
    },
  }),
);

/** Providers that repeat in their errors what they were sent. */
const leaky = (status: number, headers: Record<string, string> = {}): Reply => ({
  status,
  headers,
  body: {
    error: {
      type: 'invalid_request_error',
      message: `The key ${KEY} or the header Bearer ${HEADER} is wrong`,
      param: PROMPT,
    },
    request: { authorization: KEY, messages: [PROMPT] },
  },
});

describe.each(['chat-completions', 'messages'] as const)('a provider’s key, over %s', (wire) => {
  it('and what people and models said stand in no log line, no history of the engine and no error', async () => {
    const { model, client, runtime } = await startWithApi(
      ({ number }): Reply => {
        if (number === 1) return leaky(503, { 'retry-after-ms': '1' });
        if (number === 2)
          return { text: ANSWER, accident: { afterEvents: 3, what: { error: { message: KEY } } } };
        if (number === 3)
          return { text: ANSWER, calls: [{ name: 'bash', arguments: { command: `echo ${ANSWER}` } }] };
        return number === 4 ? { text: ANSWER } : leaky(401);
      },
      {
        wire,
        logger,
        attempts: 6,
        env: { PLANTED_KEY: KEY },
        providers: { scripted: { apiKeyEnv: 'PLANTED_KEY', headers: { 'x-proxy-key': `Bearer ${HEADER}` } } },
        server: { apiKey: KEY },
      },
    );
    const { id } = await client.createSession({});
    const bodies: unknown[] = [];
    for (const turn of [1, 2]) {
      await client.prompt(id, { text: PROMPT });
      const ended = await client.turn(id, turn, { waitSeconds: 30 });
      bodies.push(ended.reason);
    }
    expect(model.refusals).toEqual([]);
    expect(bodies).toMatchObject([{ kind: 'completed' }, { kind: 'error', code: 'AUTH' }]);
    // The key was sent, so that its absence elsewhere means something.
    expect(JSON.stringify(model.requests.map(({ headers }) => headers))).toContain(KEY);

    const [record] = await runtime.store.listSessions({ tenant: 'default', limit: 1 });
    const events = await runtime.events(record!.uid);
    const histories = await Promise.all(
      [1, 2].map((turn) =>
        runtime.client.workflow
          .getHandle(`${runtime.deployment}/turn/${record!.uid}/${String(turn)}`)
          .fetchHistory(),
      ),
    );
    const places = {
      errors: JSON.stringify([bodies, events.filter(({ type }) => type === 'assistant/attempt')]),
      log: written.join(''),
      history: readable(histories),
    };
    // The history was read with its payloads: the id of the session stands in it.
    expect(places.history).toContain(record!.uid);
    expect(places.log).not.toBe('');
    for (const [place, text] of Object.entries(places)) {
      for (const secret of [KEY, HEADER, PROMPT, ANSWER])
        expect(text.includes(secret), `${secret} in ${place}`).toBe(false);
    }
    // Nothing that is stored holds a key.
    expect(JSON.stringify(events)).not.toContain(KEY);
    expect(JSON.stringify(events)).not.toContain(HEADER);
  });
});

/** A history as text, with its payloads decoded. */
function readable(value: unknown): string {
  return JSON.stringify(value, (_key, part: unknown) =>
    part instanceof Uint8Array
      ? Buffer.from(part).toString('utf8')
      : typeof part === 'object' &&
          part !== null &&
          'type' in part &&
          part.type === 'Buffer' &&
          'data' in part
        ? Buffer.from(part.data as number[]).toString('utf8')
        : part,
  );
}
