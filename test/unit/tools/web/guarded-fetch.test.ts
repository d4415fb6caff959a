import type { RequestListener } from 'node:http';
import { pipeline, Readable } from 'node:stream';
import { brotliCompressSync, createGzip, gzipSync } from 'node:zlib';
import { afterEach, describe, expect, it } from 'vitest';
import type { ResolveHost } from '../../../../src/tools/web/checked-addresses.js';
import {
  createGuardedFetch,
  type GuardedRequest,
  type GuardOptions,
} from '../../../../src/tools/web/guarded-fetch.js';
import { until } from '../tool-fixture.js';
import {
  type Certificate,
  type LocalWebServer,
  selfSignedCertificate,
  startLocalWebServer,
} from './local-web-server.js';

/** 127.0.0.1 stands for the public internet here, 127.0.0.2 for what is refused. */
const isAllowedAddress = (address: string) => address === '127.0.0.1';

const servers: LocalWebServer[] = [];
const serve = async (handler: RequestListener, certificate?: Certificate) => {
  const server = await startLocalWebServer(handler, certificate);
  servers.push(server);
  return server;
};
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close()));
});

const request = (url: string, changes: Partial<GuardedRequest> = {}): GuardedRequest => ({
  url,
  maxBytes: 1000,
  timeoutMs: 10_000,
  signal: new AbortController().signal,
  ...changes,
});
const fetchPage = (url: string, changes: Partial<GuardedRequest> = {}, options: GuardOptions = {}) =>
  createGuardedFetch({ isAllowedAddress, ...options })(request(url, changes));
/** Answers one list of addresses after the other, and the last one from then on. */
const resolver = (...lists: string[][]): ResolveHost & { calls: () => number } => {
  let calls = 0;
  const resolve = async () => {
    const list = lists[Math.min(calls, lists.length - 1)] ?? [];
    calls += 1;
    return list.map((address) => ({ address, family: 4 }));
  };
  return Object.assign(resolve, { calls: () => calls });
};
const hello: RequestListener = (_request, response) => response.end('hello');
const redirectTo =
  (target: (path: string) => string): RequestListener =>
  ({ url = '' }, response) =>
    response.writeHead(302, { location: target(url) }).end();

describe('where a request may go', () => {
  it('is the public internet alone where nothing else is said', async () => {
    const server = await serve(hello);
    const fetch = createGuardedFetch();
    for (const host of ['127.0.0.1', 'localhost', '[::ffff:127.0.0.1]', '0', '2130706433']) {
      await expect(fetch(request(server.url('/', host)))).rejects.toMatchObject({ code: 'ADDRESS_REFUSED' });
    }
    expect(server.connections()).toBe(0);
  });

  it('is looked at again on each redirect', async () => {
    const server = await serve(redirectTo((path) => (path === '/a' ? '/b' : server.url('/', '127.0.0.2'))));
    await expect(fetchPage(server.url('/a'), { maxRedirects: 5 })).rejects.toMatchObject({
      code: 'ADDRESS_REFUSED',
    });
    expect(server.requests.map(({ url }) => url)).toEqual(['/a', '/b']);
  });

  it('is refused where one of the addresses of a name is', async () => {
    const server = await serve(hello);
    const resolve = resolver(['127.0.0.1', '127.0.0.2']);
    await expect(fetchPage(server.url('/', 'site.test'), {}, { resolve })).rejects.toMatchObject({
      code: 'ADDRESS_REFUSED',
    });
    expect(server.connections()).toBe(0);
  });

  it('is the address that was checked, whatever the name resolves to later', async () => {
    const server = await serve(hello);
    const resolve = resolver(['127.0.0.1'], ['127.0.0.2']);
    const { bytes } = await fetchPage(server.url('/', 'site.test'), {}, { resolve });
    expect(bytes.toString()).toBe('hello');
    expect(resolve.calls()).toBe(1);
    expect(server.requests[0]?.headers.host).toBe(`site.test:${String(server.port)}`);
  });

  it('is refused where a name leads elsewhere after a redirect', async () => {
    const server = await serve(redirectTo(() => '/next'));
    const resolve = resolver(['127.0.0.1'], ['127.0.0.2']);
    await expect(
      fetchPage(server.url('/', 'site.test'), { maxRedirects: 5 }, { resolve }),
    ).rejects.toMatchObject({ code: 'ADDRESS_REFUSED' });
    expect(server.requests).toHaveLength(1);
  });

  it.each([
    'ftp://site.test/',
    'file:///etc/passwd',
    'data:text/plain,x',
    'http://me:secret@site.test/',
    'site.test',
  ])('is never %s, neither first nor by a redirect', async (target) => {
    const server = await serve(redirectTo(() => target));
    await expect(fetchPage(target)).rejects.toMatchObject({
      code: 'INVALID_URL',
      message: expect.not.stringContaining('secret') as string,
    });
    if (target === 'site.test') return;
    await expect(fetchPage(server.url(), { maxRedirects: 5 })).rejects.toMatchObject({ code: 'INVALID_URL' });
  });
});

describe('redirects', () => {
  it('are followed up to their number, and no further', async () => {
    const server = await serve(({ url = '' }, response) => {
      const hops = Number(url.slice(1));
      if (hops === 0) response.end('there');
      else response.writeHead(307, { location: `/${String(hops - 1)}` }).end();
    });
    const { url, bytes } = await fetchPage(server.url('/5'), { maxRedirects: 5 });
    expect([url.href, bytes.toString()]).toEqual([server.url('/0'), 'there']);
    await expect(fetchPage(server.url('/6'), { maxRedirects: 5 })).rejects.toMatchObject({
      code: 'TOO_MANY_REDIRECTS',
    });
  });

  it('are answers where none are to be followed, and for every POST', async () => {
    const server = await serve(redirectTo(() => '/next'));
    expect((await fetchPage(server.url())).status).toBe(302);
    const posted = await fetchPage(server.url(), { method: 'POST', body: 'häh', maxRedirects: 5 });
    expect([posted.status, posted.headers.location]).toEqual([302, '/next']);
    expect(server.requests[1]?.headers['content-length']).toBe('4');
  });
});

describe('the body', () => {
  it('is unpacked', async () => {
    const server = await serve(({ url }, response) => {
      const isGzip = url === '/gzip';
      response.setHeader('content-encoding', isGzip ? 'gzip' : 'br');
      response.end((isGzip ? gzipSync : brotliCompressSync)('unpacked'));
    });
    for (const path of ['/gzip', '/br']) {
      const { bytes, truncated } = await fetchPage(server.url(path));
      expect([bytes.toString(), truncated]).toEqual(['unpacked', false]);
    }
  });

  it('is whole where it has just as many bytes as it may', async () => {
    const server = await serve((_request, response) => response.end('x'.repeat(1000)));
    expect(await fetchPage(server.url())).toMatchObject({ truncated: false });
  });

  it('is cut at its bound, and the connection closed, where it never ends', async () => {
    const server = await serve((_request, response) => {
      const more = () => {
        while (!response.destroyed && response.write('x'.repeat(700)));
        response.once('drain', more);
      };
      more();
    });
    const { bytes, truncated } = await fetchPage(server.url());
    expect([bytes.length, truncated]).toEqual([1000, true]);
    await until(() => server.openConnections() === 0);
  });

  it('counts what a small answer unpacks to, which may be without end', async () => {
    const zeros = Buffer.alloc(64 * 1024);
    const server = await serve((_request, response) => {
      const endless = new Readable({
        read() {
          this.push(zeros);
        },
      });
      response.writeHead(200, { 'content-encoding': 'gzip' });
      pipeline(endless, createGzip(), response, () => {});
    });
    const { bytes, truncated } = await fetchPage(server.url());
    expect([bytes.length, truncated]).toEqual([1000, true]);
    await until(() => server.openConnections() === 0);
  });

  it.each([
    ['deflate', 'x', 'INVALID_RESPONSE', 'encoded as "deflate"'],
    ['gzip', 'no gzip at all', 'CONNECTION_FAILED', 'damaged (Z_DATA_ERROR)'],
    ['br', 'no brotli at all', 'CONNECTION_FAILED', 'damaged'],
  ])('in %s that cannot be unpacked is an error', async (encoding, body, code, message) => {
    const server = await serve((_request, response) =>
      response.writeHead(200, { 'content-encoding': encoding }).end(body),
    );
    await expect(fetchPage(server.url())).rejects.toMatchObject({
      code,
      message: expect.stringContaining(message) as string,
    });
    await until(() => server.openConnections() === 0);
  });

  it('that breaks off is an error', async () => {
    const server = await serve((_request, response) => {
      response.writeHead(200, { 'content-length': '500' });
      response.write('half', () => response.destroy());
    });
    await expect(fetchPage(server.url())).rejects.toMatchObject({ code: 'CONNECTION_FAILED' });
  });
});

describe('an end before the answer', () => {
  const silent: RequestListener = () => {};
  const stalling: RequestListener = (_request, response) => {
    response.write('a beginning');
  };

  it.each([
    ['says nothing', silent],
    ['stops in the middle', stalling],
  ])('comes at the time limit where the server %s', async (_what, handler) => {
    const server = await serve(handler);
    await expect(fetchPage(server.url(), { timeoutMs: 100 })).rejects.toMatchObject({
      code: 'TIMEOUT',
      message: 'There was no whole answer within 0.1 s.',
    });
    await until(() => server.openConnections() === 0);
  });

  it('comes at the time limit where the name service is silent', async () => {
    const resolve = () => new Promise<never>(() => {});
    await expect(fetchPage('http://site.test/', { timeoutMs: 50 }, { resolve })).rejects.toMatchObject({
      code: 'TIMEOUT',
    });
  });

  it.each([
    ['is silent', silent],
    ['is in the middle', stalling],
  ])('closes the socket of an aborted request whose server %s', async (_what, handler) => {
    const server = await serve(handler);
    const controller = new AbortController();
    const fetched = fetchPage(server.url(), { signal: controller.signal });
    await until(() => server.requests.length === 1);
    const reason = new Error('cancelled');
    controller.abort(reason);
    await expect(fetched).rejects.toBe(reason);
    await until(() => server.openConnections() === 0);
  });

  it('sends nothing where the signal is aborted before', async () => {
    const server = await serve(hello);
    const signal = AbortSignal.abort(new Error('too late'));
    await expect(fetchPage(server.url(), { signal })).rejects.toThrow('too late');
    expect(server.connections()).toBe(0);
  });

  it('says what is wrong with a host that does not answer', async () => {
    const server = await serve(hello);
    await server.close();
    await expect(fetchPage(server.url())).rejects.toMatchObject({
      code: 'CONNECTION_FAILED',
      message: expect.stringContaining('ECONNREFUSED') as string,
    });
    const resolve = () => Promise.reject(new Error('ENOTFOUND'));
    await expect(fetchPage('http://site.test/', {}, { resolve })).rejects.toMatchObject({
      code: 'CONNECTION_FAILED',
      message: 'The name site.test does not resolve.',
    });
  });

  it('is no endless wait where the server switches protocols', async () => {
    const server = await serve(({ socket }) => {
      socket.write('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n');
    });
    await expect(fetchPage(server.url())).rejects.toMatchObject({ code: 'CONNECTION_FAILED' });
  });
});

describe('https', () => {
  const certificate = selfSignedCertificate('site.test');
  const resolve = resolver(['127.0.0.1']);

  it('takes a trusted certificate for the name, at the address that was checked', async () => {
    const server = await serve(hello, certificate);
    const { bytes } = await fetchPage(server.url('/', 'site.test'), {}, { resolve, ca: certificate.cert });
    expect(bytes.toString()).toBe('hello');
  });

  it.each([
    ['another name', 'other.test', certificate.cert, 'ERR_TLS_CERT_ALTNAME_INVALID'],
    ['an authority that is not trusted', 'site.test', undefined, 'DEPTH_ZERO_SELF_SIGNED_CERT'],
  ])('refuses a certificate of %s', async (_what, name, ca, code) => {
    const server = await serve(hello, certificate);
    const options = { resolve, ...(ca === undefined ? {} : { ca }) };
    await expect(fetchPage(server.url('/', name), {}, options)).rejects.toMatchObject({
      code: 'CONNECTION_FAILED',
      message: expect.stringContaining(`certificate cannot be trusted (${code})`) as string,
    });
    expect(server.requests).toEqual([]);
  });
});

describe('a request', () => {
  it('carries no cookies from one to the next and uses no connection twice', async () => {
    const server = await serve((_request, response) =>
      response.writeHead(302, { location: '/again', 'set-cookie': 'a=b' }).end(),
    );
    await expect(fetchPage(server.url(), { maxRedirects: 2 })).rejects.toMatchObject({
      code: 'TOO_MANY_REDIRECTS',
    });
    expect(server.requests.map(({ headers }) => headers.cookie)).toEqual([undefined, undefined, undefined]);
    expect(server.connections()).toBe(3);
    await until(() => server.openConnections() === 0);
  });
});
