import type { RequestListener } from 'node:http';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createConfiguredSearch } from '../../../../src/tools/web-search/configured-search.js';
import { createBraveSearch } from '../../../../src/tools/web-search/brave-search.js';
import type { SearchProvider } from '../../../../src/tools/web-search/search-provider.js';
import { until } from '../tool-fixture.js';
import { type LocalWebServer, startLocalWebServer } from '../web/local-web-server.js';

const KEY = 'BSA-very-secret';
const signal = new AbortController().signal;

let server: LocalWebServer;
let handler: RequestListener;
let provider: SearchProvider;
beforeEach(async () => {
  server = await startLocalWebServer((request, response) => {
    handler(request, response);
  });
  provider = createConfiguredSearch(
    { provider: 'brave', apiKeyEnv: 'BRAVE_API_KEY', baseUrl: server.url('/proxy/') },
    { BRAVE_API_KEY: ` ${KEY}\n` },
  );
});
afterEach(() => server.close());

const answer =
  (status: number, body: unknown, headers: Record<string, string> = {}): RequestListener =>
  (_request, response) => {
    response.writeHead(status, headers).end(typeof body === 'string' ? body : JSON.stringify(body));
  };
/** Answers with one after the other. */
const inTurn =
  (...handlers: RequestListener[]): RequestListener =>
  (request, response) => {
    handlers[server.requests.length - 1]?.(request, response);
  };
const hits = (...results: object[]) => answer(200, { type: 'search', web: { results } });
const failure = async (search = provider.search('cats', signal)): Promise<string> => {
  const error: unknown = await search.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toMatchObject({ name: 'ToolError', code: 'TOOL_ERROR' });
  expect(JSON.stringify(error, Object.getOwnPropertyNames(error))).not.toContain(KEY);
  return (error as Error).message;
};

describe('a search with Brave', () => {
  it('asks for the query with the key in a header', async () => {
    handler = hits();
    expect(await provider.search('cats & dogs?', signal)).toEqual([]);
    const [request] = server.requests;
    const url = new URL(request?.url ?? '', server.url());
    expect([request?.method, url.pathname]).toEqual(['GET', '/proxy/res/v1/web/search']);
    expect(url.searchParams.get('q')).toBe('cats & dogs?');
    expect(request?.headers['x-subscription-token']).toBe(KEY);
    expect(request?.url).not.toContain(KEY);
  });

  it('has the hits as plain text', async () => {
    handler = hits(
      {
        title: 'Q&amp;A',
        url: 'https://a.example/',
        description: 'a <strong>cat</strong>&#x27;s &lt;b&gt;\n life',
        age: 'May 1',
        extra: 1,
      },
      { title: 'B', url: 'https://b.example/' },
    );
    expect(await provider.search('cats', signal)).toEqual([
      { title: 'Q&A', url: 'https://a.example/', snippet: "a cat's <b> life", age: 'May 1' },
      { title: 'B', url: 'https://b.example/', snippet: '' },
    ]);
  });

  it('has no hits where the answer has none', async () => {
    handler = answer(200, { type: 'search', query: {} });
    expect(await provider.search('cats', signal)).toEqual([]);
  });

  it('masks the key wherever the service repeats it', async () => {
    handler = hits({ title: KEY, url: `https://a.example/?${KEY}`, description: `x${KEY}y` });
    expect(JSON.stringify(await provider.search('cats', signal))).not.toContain(KEY);
    handler = answer(422, { error: { code: 'VALIDATION', detail: `token ${KEY} is odd` } });
    expect(await failure()).toBe(
      'The search service answered with status 422 (VALIDATION: token *** is odd).',
    );
  });

  it('waits once for a limit that ends soon', async () => {
    const limited = answer(429, {}, { 'x-ratelimit-reset': '0, 1419704' });
    handler = inTurn(limited, hits({ title: 'A', url: 'https://a.example/' }));
    expect(await provider.search('cats', signal)).toHaveLength(1);
    handler = limited;
    expect(await failure()).toContain('no more queries for now');
    expect(server.requests).toHaveLength(4);
  });

  it.each([{}, { 'x-ratelimit-reset': '60' }, { 'x-ratelimit-reset': 'soon' }])(
    'does not wait for a limit with %j',
    async (headers) => {
      handler = answer(429, {}, headers);
      expect(await failure()).toContain('status 429');
      expect(server.requests).toHaveLength(1);
    },
  );

  it.each([
    [401, { error: { detail: 'bad token' } }, 'does not accept its key (status 401)'],
    [403, '', 'does not accept its key (status 403)'],
    [500, '<html>', 'answered with status 500.'],
    [302, '', 'answered with status 302.'],
    [200, 'no JSON', 'no list of hits'],
    [200, { web: { results: [{ title: 'A' }] } }, 'no list of hits'],
  ])('fails clearly where the status is %i and the body %j', async (status, body, message) => {
    handler = answer(status, body, { location: '/elsewhere' });
    expect(await failure()).toContain(message);
    expect(server.requests).toHaveLength(1);
  });

  it('fails clearly where the service is silent, or is not there', async () => {
    handler = () => {};
    const options = { apiKey: () => KEY, apiKeyEnv: 'KEY', baseUrl: server.url(), timeoutMs: 100 };
    expect(await failure(createBraveSearch(options).search('cats', signal))).toContain('within 0.1 s');
    await server.close();
    expect(await failure()).toContain('ECONNREFUSED');
  });

  it('ends with its signal', async () => {
    handler = () => {};
    const controller = new AbortController();
    const running = provider.search('cats', controller.signal);
    await until(() => server.requests.length === 1);
    controller.abort(new Error('cancelled'));
    await expect(running).rejects.toThrow('cancelled');
    await until(() => server.openConnections() === 0);
  });

  it('ends with its signal while it waits for a limit', async () => {
    const controller = new AbortController();
    handler = (_request, response) => {
      response.on('finish', () => {
        controller.abort(new Error('cancelled'));
      });
      response.writeHead(429, { 'x-ratelimit-reset': '3' }).end();
    };
    await expect(provider.search('cats', controller.signal)).rejects.toThrow('cancelled');
    expect(server.requests).toHaveLength(1);
  });

  it.each([undefined, ' '])('names the variable that holds no key but %j', async (key) => {
    const search = createConfiguredSearch(
      { provider: 'brave', apiKeyEnv: 'SEARCH_KEY', baseUrl: server.url() },
      { SEARCH_KEY: key },
    );
    expect(await failure(search.search('cats', signal))).toContain('set the environment variable SEARCH_KEY');
    expect(server.connections()).toBe(0);
  });
});
