import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { v7 as uuidv7 } from 'uuid';
import { makeKey, type TestKey } from './api-keys.js';
import { call, startApi, type ApiServer } from './api-server.js';
import { AskedTurn } from './asked-turn.js';
import { StreamReader } from './stream-reader.js';

interface Operation {
  readonly method: string;
  /** As the description has it: `/v1/sessions/{id}`. */
  readonly template: string;
  readonly body: string | undefined;
  readonly isStream: boolean;
  readonly isOpen: boolean;
}

interface Described {
  readonly requestBody?: { readonly content: Record<string, { schema?: { $ref?: string } }> };
  readonly responses: Record<string, { readonly content?: Record<string, unknown> }>;
  readonly security: readonly unknown[];
}

/** A session of one tenant that has something of everything, and the names by which it all is known. */
interface Known {
  readonly uid: AskedTurn['uid'];
  /** The values of path parameters. */
  readonly path: Readonly<Record<string, string>>;
}

let api: ApiServer;
let known: Known;
let acme: TestKey;
let rival: TestKey;

beforeEach(async () => {
  api = await startApi();
  known = await everything();
  acme = await makeKey(api, { name: 'acme' });
  rival = await makeKey(api, { name: 'rival', tenant: 'rival' });
});
afterEach(() => api.stop());

async function everything(): Promise<Known> {
  const asked = await AskedTurn.start(api, 'acme-session', 2);
  const approvalId = await asked.ask(0);
  const questionId = await asked.askQuestion(1, [{ id: 'q', question: 'Acme?', multiSelect: false }]);
  const prompt = await call(`${api.url}/v1/sessions/acme-session/prompts`, 'POST', { text: 'acme-prompt' });
  const { itemId } = prompt.body as { itemId: string };
  const sha256 = await api.store.saveBlob(asked.uid, Buffer.from('acme-blob'), 'text/plain');
  return {
    uid: asked.uid,
    path: { id: 'acme-session', turn: '1', approvalId, questionId, itemId, sha256 },
  };
}

/** A valid body of each kind; of those that name things, the known ones. */
function bodyOf(name: string | undefined): unknown {
  const { approvalId = '' } = known.path;
  const bodies: Record<string, unknown> = {
    SessionBody: {},
    SessionPatch: { title: 'another title' },
    PromptBody: { text: 'go' },
    CancelBody: {},
    JobBody: { prompt: 'go', sessionId: 'acme-session' },
    DecisionBody: { outcome: 'allow' },
    DecisionsBody: { decisions: [{ approvalId, outcome: 'allow' }] },
    AnswersBody: { answers: [{ id: 'q', text: 'yes' }] },
    QueuePatch: { text: 'edited' },
  };
  if (name === undefined) return undefined;
  if (!Object.hasOwn(bodies, name)) throw new Error(`This test needs an example of the body ${name}.`);
  return bodies[name];
}

async function operations(): Promise<readonly Operation[]> {
  const { body } = await call(`${api.url}/openapi.json`, 'GET');
  const { paths } = body as { paths: Record<string, Record<string, Described>> };
  return Object.entries(paths).flatMap(([template, methods]) =>
    Object.entries(methods).map(([method, { requestBody, responses, security }]): Operation => {
      const json = requestBody?.content['application/json']?.schema?.$ref;
      const answers = Object.keys(responses['200']?.content ?? {});
      return {
        method: method.toUpperCase(),
        template,
        body: json?.split('/').at(-1),
        isStream: answers.length === 1 && answers[0] === 'text/event-stream',
        isOpen: security.length === 0,
      };
    }),
  );
}

function pathOf(template: string): string {
  return template.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const value = known.path[name];
    if (value === undefined) throw new Error(`This test needs a known value of {${name}}.`);
    return value;
  });
}

const ask = async ({ method, template, body }: Operation, key: TestKey) => {
  const response = await fetch(api.url + pathOf(template), {
    method,
    headers: {
      ...key.headers,
      ...(method === 'GET' || method === 'DELETE' ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(bodyOf(body)) }),
  });
  return { status: response.status, text: await response.text() };
};

/** What is named by paths, so that deletions come last, those of the most before the others. */
function inOrder(all: readonly Operation[]): readonly Operation[] {
  const rank = ({ method }: Operation) => ['GET', 'PATCH', 'POST', 'PUT', 'DELETE'].indexOf(method);
  return [...all].sort((a, b) => rank(a) - rank(b) || b.template.length - a.template.length);
}

const snapshot = async () => ({
  state: await api.store.readState(known.uid),
  asks: await Promise.all(
    (['approval', 'question'] as const).map((kind) =>
      api.store.listAsks({ tenant: 'default', kind, limit: 10 }),
    ),
  ),
  nudges: [...api.nudges],
});

describe("another tenant's things", () => {
  it('are not there, on every route that names one; with a key of theirs they are', async () => {
    const named = (await operations()).filter(({ template }) => template.includes('{'));
    expect(named.length).toBeGreaterThan(15);
    const before = await snapshot();
    for (const operation of named) {
      const { status, text } = await ask(operation, rival);
      expect(status, `${operation.method} ${operation.template}: ${text}`).toBe(404);
      expect(JSON.parse(text)).toMatchObject({ code: 'NOT_FOUND' });
    }
    expect(await snapshot()).toEqual(before);
    for (const operation of inOrder(named)) {
      const { status, text } = await ask(operation, acme);
      expect([401, 403, 404], `${operation.method} ${operation.template}: ${text}`).not.toContain(status);
    }
  });

  it('are in no list, and cannot be named in a body', async () => {
    const before = await snapshot();
    const unnamed = (await operations()).filter(
      ({ template, isOpen, isStream }) => !template.includes('{') && !isOpen && !isStream,
    );
    const secrets = [...Object.values(known.path).filter((value) => value !== '1'), 'acme-prompt'];
    let lists = 0;
    for (const operation of unnamed) {
      const { text } = await ask(operation, rival);
      // A problem may say which id was not found; what stands behind it may not be told.
      const told = secrets.filter((secret) => text.includes(secret));
      const ownWords = operation.body === 'DecisionsBody' ? [known.path.approvalId] : [];
      expect(told, `${operation.method} ${operation.template}`).toEqual(ownWords);
      lists += operation.method === 'GET' ? 1 : 0;
    }
    expect(lists).toBeGreaterThan(3);
    expect((await snapshot()).state).toEqual(before.state);
    const job = await rival.call('POST', '/v1/turns', { prompt: 'go', sessionId: 'acme-session' });
    expect(job.body).toMatchObject({ status: 404, code: 'NOT_FOUND' });
    const many = await rival.call('POST', '/v1/approvals', bodyOf('DecisionsBody'));
    expect(many.body).toMatchObject({ items: [{ status: 404, code: 'NOT_FOUND' }] });
    const filtered = await rival.call('GET', '/v1/approvals?session=acme-session');
    expect(filtered.status).toBe(404);
  });

  it('look like what nobody has', async () => {
    for (const [theirs, nobodys] of [
      ['/v1/sessions/acme-session', '/v1/sessions/nobody'],
      [`/v1/approvals/${known.path.approvalId ?? ''}`, `/v1/approvals/${uuidv7()}`],
    ] as const) {
      const [a, b] = [await rival.call('GET', theirs), await rival.call('GET', nobodys)];
      expect(a.body).toEqual(b.body);
    }
  });

  it('stand beside ones of the same name', async () => {
    const mine = await rival.call('POST', '/v1/sessions', { id: 'acme-session', title: 'mine' });
    expect(mine.status).toBe(201);
    expect((await rival.call('GET', '/v1/sessions/acme-session')).body).toMatchObject({ title: 'mine' });
    expect((await rival.call('DELETE', '/v1/sessions/acme-session')).status).toBe(204);
    expect((await acme.call('GET', '/v1/sessions/acme-session')).body).toMatchObject({ turn: 1 });
    const job = { prompt: 'go', requestId: 'same' };
    const [first, second] = [
      await acme.call('POST', '/v1/turns', job),
      await rival.call('POST', '/v1/turns', { ...job, prompt: 'something else' }),
    ];
    expect([first.status, second.status]).toEqual([202, 202]);
  });

  it('are in no stream of changes', async () => {
    const streams = (await operations()).filter(({ isStream }) => isStream);
    for (const { template } of streams) {
      const reader = await StreamReader.open(api.url + pathOf(template), { ...rival.headers });
      await acme.call('POST', '/v1/sessions/acme-session/prompts', { text: 'acme-prompt' });
      await acme.call('POST', '/v1/sessions', { id: 'acme-other' });
      const id = `rival-${uuidv7()}`;
      await rival.call('POST', '/v1/sessions', { id });
      await reader.until(() => JSON.stringify(reader.messages).includes(id));
      expect(JSON.stringify(reader.messages)).not.toContain('acme');
      reader.close();
    }
  });
});
