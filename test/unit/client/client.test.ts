import { describe, expect, it } from 'vitest';
import { createClient } from '../../../src/client/client.js';
import { problem, scriptedFetch } from './scripted-fetch.js';

const answer = (body: unknown, status = 200) => new Response(JSON.stringify(body), { status });

describe('the client', () => {
  it('sends its key, names ids safely and leaves out what was not given', async () => {
    const { fetch, requests } = scriptedFetch([answer({ items: [], nextCursor: null }), answer({})]);
    const client = createClient({ baseUrl: 'http://server/base/', apiKey: 'secret', fetch });
    await client.listSessions({ limit: 5 });
    await client.turn('a/b', 2, { waitSeconds: 30 });
    expect(requests.map(({ url }) => url.href)).toEqual([
      'http://server/base/v1/sessions?limit=5',
      'http://server/base/v1/sessions/a%2Fb/turns/2?wait=30',
    ]);
    expect(requests[0]?.headers.get('authorization')).toBe('Bearer secret');
    expect(requests[0]?.headers.get('content-type')).toBeNull();
  });

  it('throws the problem of a refusal, to be routed by its code', async () => {
    const { fetch } = scriptedFetch([problem(409, 'SESSION_CONFLICT')]);
    await expect(
      createClient({ baseUrl: 'http://server', fetch }).createSession({ id: 's' }),
    ).rejects.toMatchObject({
      name: 'ApiError',
      code: 'SESSION_CONFLICT',
      status: 409,
      message: 'It is SESSION_CONFLICT.',
    });
  });

  it('knows the problem of a newer server, which says more of it', async () => {
    const body = { type: 't', title: 'T', status: 409, code: 'SESSION_CONFLICT', detail: 'D', more: [1] };
    const { fetch } = scriptedFetch([new Response(JSON.stringify(body), { status: 409 })]);
    await expect(createClient({ baseUrl: 'http://server', fetch }).models()).rejects.toMatchObject({
      code: 'SESSION_CONFLICT',
      message: 'D',
    });
  });

  it('makes a problem of an answer that is none', async () => {
    const { fetch } = scriptedFetch([new Response('<h1>Bad gateway</h1>', { status: 502 })]);
    await expect(createClient({ baseUrl: 'http://server', fetch }).models()).rejects.toMatchObject({
      name: 'ApiError',
      code: 'UNEXPECTED_ANSWER',
      status: 502,
    });
  });

  it('throws a connection error where nobody answers, or the answer is cut', async () => {
    const { fetch } = scriptedFetch([new TypeError('fetch failed'), new Response('{"id": "s')]);
    const client = createClient({ baseUrl: 'http://server', fetch });
    await expect(client.session('s')).rejects.toMatchObject({ name: 'ConnectionError' });
    await expect(client.session('s')).rejects.toMatchObject({ name: 'ConnectionError' });
  });

  it('reads the readiness of a server that is not ready', async () => {
    const { fetch } = scriptedFetch([answer({ status: 'draining' }, 503)]);
    expect(await createClient({ baseUrl: 'http://server', fetch }).readiness()).toEqual({
      status: 'draining',
    });
  });
});
