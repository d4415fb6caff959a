import { afterEach, describe, expect, it } from 'vitest';
import { makeKey } from './api-keys.js';
import { call, rawCall, startApi, type ApiServer } from './api-server.js';

let api: ApiServer;
afterEach(() => api.stop());

const APP = 'https://app.example';
const preflight = (origin: string) =>
  fetch(`${api.url}/v1/sessions/s/prompts`, {
    method: 'OPTIONS',
    headers: {
      origin,
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'authorization, content-type',
    },
  });

describe('a page of an origin that is listed', () => {
  it('may ask beforehand without a key, then call with one, and read the answer', async () => {
    api = await startApi({ settings: { allowedOrigins: [APP] } });
    const key = await makeKey(api);
    const asked = await preflight(APP);
    expect(asked.status).toBe(204);
    expect(asked.headers.get('access-control-allow-origin')).toBe(APP);
    expect(asked.headers.get('access-control-allow-methods')).toContain('POST');
    expect(asked.headers.get('access-control-allow-headers')).toContain('authorization');
    expect(asked.headers.get('access-control-allow-credentials')).toBeNull();
    const answer = await call(
      `${api.url}/v1/sessions`,
      'POST',
      {},
      {
        origin: APP,
        'sec-fetch-site': 'cross-site',
        ...key.headers,
      },
    );
    expect(answer.status).toBe(201);
    expect(answer.headers.get('access-control-allow-origin')).toBe(APP);
    expect(answer.headers.get('vary')?.toLowerCase()).toContain('origin');
    const refused = await call(`${api.url}/v1/sessions`, 'GET', undefined, { origin: APP });
    expect(refused.body).toMatchObject({ code: 'UNAUTHENTICATED' });
    expect(refused.headers.get('access-control-allow-origin')).toBe(APP);
  });

  it('is no other one that looks alike', async () => {
    api = await startApi({ settings: { allowedOrigins: [APP] } });
    for (const origin of ['http://app.example', `${APP}:444`, `${APP}.evil.example`, 'null', `${APP}/`]) {
      const { headers } = await preflight(origin);
      expect(headers.get('access-control-allow-origin'), origin).toBeNull();
      const posted = await call(`${api.url}/v1/sessions`, 'POST', {}, { origin });
      expect(posted.body).toMatchObject({ code: 'FORBIDDEN_ORIGIN' });
    }
  });
});

describe('a server whose list of origins is empty', () => {
  it('lets no page of another origin read anything', async () => {
    api = await startApi();
    const { headers } = await call(`${api.url}/v1/sessions`, 'GET', undefined, { origin: APP });
    expect(headers.get('access-control-allow-origin')).toBeNull();
    expect((await preflight(APP)).headers.get('access-control-allow-origin')).toBeNull();
  });
});

describe('a server with host names of its own', () => {
  it('answers to them and to no other', async () => {
    api = await startApi({ settings: { allowedHosts: ['agents.example', '[fd00::1]'] } });
    const ask = (host: string) => rawCall(`${api.url}/healthz`, { headers: { host } });
    expect((await ask('Agents.example:8443')).status).toBe(200);
    expect((await ask('[fd00::1]:8787')).status).toBe(200);
    expect((await ask('evil.example')).problem.code).toBe('FORBIDDEN_HOST');
  });
});
