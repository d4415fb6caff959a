import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { problemSchema } from '../../src/contract/http.js';
import { call, newSession, rawCall, startApi, type ApiServer } from './api-server.js';

let api: ApiServer;
let prompts: string;
beforeAll(async () => {
  api = await startApi();
  const { id } = await newSession(api, { id: 'bad' });
  prompts = `${api.url}/v1/sessions/${id}/prompts`;
});
afterAll(() => api.stop());

describe('a body that does not fit', () => {
  it.each([
    ['blank text', { text: ' \n ' }, 'text'],
    ['neither text nor content', {}, 'text'],
    ['text and content', { text: 'a', content: [{ type: 'text', text: 'b' }] }, 'text'],
    ['blank content', { content: [{ type: 'text', text: '' }] }, 'content'],
    ['empty content', { content: [] }, 'content'],
    ['an unknown field', { text: 'a', colour: 'red' }, 'colour'],
    ['an unknown field in a block', { content: [{ type: 'text', text: 'a', x: 1 }] }, 'content.0.x'],
    ['an unknown block', { content: [{ type: 'video' }] }, 'content.0.type'],
    ['an unknown mode', { text: 'a', mode: 'shout' }, 'mode'],
    ['an unknown time zone', { text: 'a', timeZone: 'Mars/Olympus' }, 'timeZone'],
    ['a request id with a space', { text: 'a', requestId: 'a b' }, 'requestId'],
    ['a number for a text', { text: 7 }, 'text'],
    ['an unknown model', { text: 'a', model: 'nope' }, 'model'],
    ['an unknown provider', { text: 'a', provider: 'nope' }, 'provider'],
    [
      'a blob that the session does not have',
      { content: [{ type: 'image', blob: 'a'.repeat(64), mediaType: 'image/png' }] },
      'content.0',
    ],
  ])('is refused with the name of its field: %s', async (_what, body, field) => {
    const answer = await call(prompts, 'POST', body);
    expect(answer.status).toBe(400);
    expect(answer.headers.get('content-type')).toContain('application/problem+json');
    const problem = problemSchema.parse(answer.body);
    expect(problem).toMatchObject({ code: 'INVALID_REQUEST', status: 400, field });
    expect(problem.detail).toContain(field);
  });

  it.each([
    ['{"text": "a"', 'JSON'],
    ['"text"', 'JSON'],
    ['[1]', 'object'],
    ['null', 'JSON'],
  ])('is refused where it is no JSON object: %s', async (body, word) => {
    const answer = await call(prompts, 'POST', body, { 'content-type': 'application/json' });
    expect(answer.body).toMatchObject({ status: 400, code: 'INVALID_REQUEST' });
    expect((answer.body as { detail: string }).detail).toContain(word);
  });

  it('is refused where it is missing', async () => {
    const answer = await call(prompts, 'POST');
    expect(answer.body).toMatchObject({ status: 400, code: 'INVALID_REQUEST' });
  });

  it('is refused where it is not valid UTF-8, rather than stored with other characters', async () => {
    const { status, problem } = await rawCall(prompts, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: Buffer.concat([Buffer.from('{"text":"'), Buffer.from([0xc3, 0x28]), Buffer.from('"}')]),
    });
    expect(status).toBe(400);
    expect(problem.detail).toContain('UTF-8');
  });

  it.each(['text/plain', 'application/x-www-form-urlencoded', 'application/jsonx', ''])(
    'is refused with the content type %j',
    async (contentType) => {
      const { status, problem } = await rawCall(prompts, {
        method: 'POST',
        headers: contentType === '' ? {} : { 'content-type': contentType },
        body: Buffer.from('{"text":"a"}'),
      });
      expect(status).toBe(415);
      expect(problem).toMatchObject({ code: 'UNSUPPORTED_MEDIA_TYPE', field: 'Content-Type' });
    },
  );

  it.each(['latin1', 'utf-7'])('is refused in the charset %s', async (charset) => {
    const answer = await call(prompts, 'POST', '{"text":"a"}', {
      'content-type': `application/json; charset=${charset}`,
    });
    expect(answer.body).toMatchObject({ status: 415, code: 'UNSUPPORTED_MEDIA_TYPE' });
  });

  it('is refused with the name of the limit where it is too large', async () => {
    const answer = await call(prompts, 'POST', { text: 'x'.repeat(70_000) });
    expect(answer.body).toMatchObject({ status: 413, code: 'PAYLOAD_TOO_LARGE' });
    const { detail } = answer.body as { detail: string };
    expect(detail).toContain('65536');
    expect(detail).toContain('server.bodyLimitBytes');
  });

  it('leaves nothing in the log', async () => {
    const { body } = await call(`${api.url}/v1/sessions/bad`, 'GET');
    expect(body).toMatchObject({ status: 'idle', headSeq: 0, queue: [] });
  });
});

describe('a request with a method that its path does not have', () => {
  it.each([
    ['PUT', '/v1/sessions/bad', 'DELETE, GET, HEAD, OPTIONS, PATCH'],
    ['DELETE', '/v1/turns', 'GET, HEAD, OPTIONS, POST'],
    ['PUT', '/V1/Sessions/', 'GET, HEAD, OPTIONS, POST'],
    // Two paths: that of a session of this name, and that of imports.
    ['PUT', '/v1/sessions/import', 'DELETE, GET, HEAD, OPTIONS, PATCH, POST'],
    ['POST', '/healthz', 'GET, HEAD, OPTIONS'],
  ])('is 405, with those that it has: %s %s', async (method, path, allowed) => {
    const { body, headers } = await call(`${api.url}${path}`, method);
    expect(body).toMatchObject({ status: 405, code: 'METHOD_NOT_ALLOWED' });
    expect(headers.get('allow')).toBe(allowed);
    const asked = await call(`${api.url}${path}`, 'OPTIONS');
    expect([asked.status, asked.headers.get('allow')]).toEqual([204, allowed]);
  });

  it('passes with HEAD where the path has GET', async () => {
    expect((await call(`${api.url}/v1/sessions`, 'HEAD')).status).toBe(200);
  });
});

describe('a request that names nothing', () => {
  it.each([
    ['GET', '/v1/nothing'],
    ['GET', '/v1/sessions/none/turns'],
    ['POST', '/v1/sessions/none/prompts'],
    ['POST', '/v1/sessions/none/cancel'],
    ['GET', '/v1/sessions/none/events'],
    ['GET', '/v1/sessions/none/messages'],
    ['DELETE', '/v1/sessions/none'],
    ['GET', '/v1/sessions/bad/turns/1'],
    ['GET', '/v1/sessions/bad/turns/one'],
    ['GET', '/v1/sessions/bad/turns/0'],
    ['POST', '/v1/sessions/bad/turns/9/cancel'],
    ['GET', `/v1/sessions/bad/blobs/${'a'.repeat(64)}`],
    ['GET', '/v1/sessions/bad/blobs/short'],
    ['GET', '/v1/approvals/none'],
    ['GET', '/v1/questions/none'],
    ['GET', '/v1/sessions/none/approvals'],
    ['GET', '/v1/sessions/none/questions'],
  ])('gets a problem with 404: %s %s', async (method, path) => {
    const body = method === 'POST' && path.endsWith('prompts') ? { text: 'a' } : undefined;
    const answer = await call(`${api.url}${path}`, method, body);
    expect(answer.status).toBe(404);
    expect(answer.body).toMatchObject({ code: 'NOT_FOUND', status: 404 });
  });

  it('gets a problem with 400 where its path does not decode', async () => {
    const answer = await call(`${api.url}/v1/sessions/%E0%A4%A`, 'GET');
    expect(answer.body).toMatchObject({ status: 400, code: 'INVALID_REQUEST' });
  });

  it.each(['/v1/sessions/bad?x=1', '/v1/models?limit=1', '/healthz?x=', '/v1/sessions/bad/messages?after=1'])(
    'gets a problem with 400 for a parameter that the route does not have: %s',
    async (path) => {
      const answer = await call(`${api.url}${path}`, 'GET');
      expect(answer.body).toMatchObject({ status: 400, code: 'INVALID_REQUEST' });
      expect((answer.body as { detail: string }).detail).toContain('Unknown field');
    },
  );
});
