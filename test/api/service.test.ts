import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { describeApi } from '../../src/api/openapi.js';
import { readinessSchema } from '../../src/contract/http.js';
import { call, MODEL, newSession, rawCall, startApi, type ApiServer } from './api-server.js';

let api: ApiServer;
beforeEach(async () => {
  api = await startApi();
});
afterEach(() => api.stop());

describe('the service', () => {
  it('tells its health and its models', async () => {
    expect((await call(`${api.url}/healthz`, 'GET')).body).toEqual({ status: 'ok', version: '1.2.3' });
    const models = (await call(`${api.url}/v1/models`, 'GET')).body as { items: unknown[] };
    expect(models).toMatchObject({ nextCursor: null });
    expect(models.items).toContainEqual(MODEL);
  });

  it('is ready only while turns can be run', async () => {
    const ready = await call(`${api.url}/readyz`, 'GET');
    expect(ready.status).toBe(200);
    expect(readinessSchema.parse(ready.body).status).toBe('ready');
    api.condition.isEngineUp = false;
    expect((await call(`${api.url}/readyz`, 'GET')).status).toBe(503);
    api.condition.isDraining = true;
    expect((await call(`${api.url}/readyz`, 'GET')).body).toMatchObject({ status: 'draining' });
  });

  it('does not say what it is made with, and lets nothing be kept', async () => {
    const { headers } = await call(`${api.url}/healthz`, 'GET');
    expect(headers.get('x-powered-by')).toBeNull();
    expect(headers.get('access-control-allow-origin')).toBeNull();
    expect(headers.get('cache-control')).toBe('no-store');
    expect(headers.get('x-content-type-options')).toBe('nosniff');
  });
});

describe('a request from elsewhere', () => {
  it.each(['evil.example', 'evil.example:80', '127.0.0.1.evil.example', '10.0.0.1', 'a b', '[::2]:1'])(
    'is refused where it names the host %j',
    async (host) => {
      const { status, problem } = await rawCall(`${api.url}/healthz`, { headers: { host } });
      expect(status).toBe(403);
      expect(problem.code).toBe('FORBIDDEN_HOST');
    },
  );

  it.each(['localhost', 'LOCALHOST:8787', '127.0.0.1:1', '[::1]:9'])(
    'is taken where it names the host %s',
    async (host) => {
      expect((await rawCall(`${api.url}/healthz`, { headers: { host } })).status).toBe(200);
    },
  );

  it('is taken with any host where the server is meant to be reached from elsewhere', async () => {
    const open = await startApi({ settings: { allowedHosts: null } });
    try {
      const { status } = await rawCall(`${open.url}/healthz`, { headers: { host: 'agents.example' } });
      expect(status).toBe(200);
    } finally {
      await open.stop();
    }
  });

  it.each(['https://evil.example', 'null', 'http://127.0.0.1:1', 'nonsense'])(
    'may not change anything with the origin %s',
    async (origin) => {
      await newSession(api, { id: 's' });
      for (const [method, path] of [
        ['POST', '/v1/sessions'],
        ['POST', '/v1/sessions/s/cancel'],
        ['DELETE', '/v1/sessions/s'],
      ] as const) {
        const answer = await call(`${api.url}${path}`, method, method === 'POST' ? {} : undefined, {
          origin,
        });
        expect(answer.body).toMatchObject({ status: 403, code: 'FORBIDDEN_ORIGIN' });
      }
      expect((await call(`${api.url}/v1/sessions/s`, 'GET')).status).toBe(200);
    },
  );

  it('may not change anything where the browser says that it is cross-site', async () => {
    const { status } = await rawCall(`${api.url}/v1/sessions`, {
      method: 'POST',
      headers: { 'sec-fetch-site': 'cross-site', 'content-type': 'application/json' },
      body: Buffer.from('{}'),
    });
    expect(status).toBe(403);
  });

  it('may change something from a page of this server', async () => {
    const answer = await call(`${api.url}/v1/sessions`, 'POST', {}, { origin: api.url });
    expect(answer.status).toBe(201);
  });
});

describe('the description of the API', () => {
  interface Description {
    paths: Record<string, Record<string, { requestBody?: unknown; parameters: { name: string }[] }>>;
  }

  it('has every path that is answered, and no other', async () => {
    const { body } = await call(`${api.url}/openapi.json`, 'GET');
    await newSession(api, { id: 'x' });
    for (const [path, methods] of Object.entries((body as Description).paths)) {
      for (const method of Object.keys(methods)) {
        const answer = await call(
          api.url +
            path
              .replace('{id}', 'none')
              .replace('{turn}', '1')
              .replace('{sha256}', 'x')
              .replace('{approvalId}', 'x')
              .replace('{questionId}', 'x'),
          method.toUpperCase(),
          method === 'get' || method === 'delete' ? undefined : {},
        );
        const detail = (answer.body as { detail?: string } | undefined)?.detail ?? '';
        expect(detail, `${method} ${path}`).not.toMatch(/^There is no [A-Z]+ /);
      }
    }
  });

  it('refers only to what is in it', () => {
    const text = JSON.stringify(describeApi('1'));
    const root = JSON.parse(text) as unknown;
    const references = [...text.matchAll(/"\$ref":"#\/([^"]+)"/g)].map((match) => match[1]!);
    expect(references.length).toBeGreaterThan(10);
    for (const reference of references) {
      const found = reference
        .split('/')
        .reduce<unknown>((value, key) => (value as Record<string, unknown> | undefined)?.[key], root);
      expect(found, reference).toBeDefined();
    }
  });
});

describe('the numbers for a monitoring system', () => {
  it('say how many turns are open, by status, and name no session', async () => {
    await newSession(api, { id: 'named-session' });
    await call(`${api.url}/v1/sessions/named-session/prompts`, 'POST', { text: 'go' });
    const { headers, body } = await call(`${api.url}/metrics`, 'GET');
    expect(headers.get('content-type')).toContain('text/plain');
    expect(body).toContain('turnkeeper_open_turns{status="running"} 1');
    expect(body).toContain('turnkeeper_engine_up 1');
    expect(body).not.toContain('named-session');
  });
});
