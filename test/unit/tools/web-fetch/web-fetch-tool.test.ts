import type { RequestListener } from 'node:http';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { MAX_RESULT_BYTES } from '../../../../src/tools/result-bounds.js';
import { createWebFetchTool, type WebFetchOptions } from '../../../../src/tools/web-fetch/web-fetch-tool.js';
import { createToolFixture, textOf, type ToolFixture, until } from '../tool-fixture.js';
import { type LocalWebServer, startLocalWebServer } from '../web/local-web-server.js';

const MIB = 1024 * 1024;
const HTML = { 'content-type': 'text/html; charset=utf-8' };

let server: LocalWebServer;
let handler: RequestListener;
let fixture: ToolFixture;

const useTool = async (options: WebFetchOptions) => {
  fixture = await createToolFixture({ tools: [createWebFetchTool(options)] });
};
const fetchPage = (args: { url?: string; max_characters?: unknown } = {}, signal?: AbortSignal) =>
  fixture.run('web_fetch', { url: server.url(), ...args }, signal === undefined ? {} : { signal });
const answer =
  (body: string | Buffer, headers: Record<string, string> = {}, status = 200): RequestListener =>
  (_request, response) => {
    response.writeHead(status, headers).end(body);
  };

beforeEach(async () => {
  server = await startLocalWebServer((request, response) => {
    handler(request, response);
  });
  await useTool({ isAllowedAddress: (address) => address === '127.0.0.1' });
});
afterEach(async () => {
  await server.close();
  await fixture.remove();
});

describe('a fetched page', () => {
  it('begins with its final address, status and title, and has HTML as Markdown', async () => {
    handler = ({ url }, response) => {
      if (url === '/') response.writeHead(301, { location: '/guide' }).end();
      else response.writeHead(200, HTML).end('<title>Guide</title><h1>Hä?</h1><a href=next>on</a>');
    };
    expect(textOf(await fetchPage())).toBe(
      `${server.url('/guide')}\n200 OK\nTitle: Guide\n\n# Hä?\n\n[on](${server.url('/next')})`,
    );
  });

  it.each([
    ['text/plain', ' a\n  <b>\n'],
    ['application/json; charset=utf-8', '{"n":12345678901234567890}'],
    ['application/problem+json', '{}'],
    ['application/octet-stream', 'only text after all'],
    ['image/svg+xml', '<svg/>'],
  ])('of the type %s is shown as it is', async (type, body) => {
    handler = answer(body, { 'content-type': type });
    expect(textOf(await fetchPage())).toBe(`${server.url()}\n200 OK\n\n${body}`);
  });

  it('is known as HTML by its beginning where it names no type', async () => {
    handler = answer('\n<!DOCTYPE html><p>a<p>b');
    expect(textOf(await fetchPage())).toMatch(/a\n\nb$/);
    handler = answer('a <p> b');
    expect(textOf(await fetchPage())).toMatch(/a <p> b$/);
  });

  it('is decoded by the character set that it names', async () => {
    handler = answer(Buffer.from('gr\xfcn', 'latin1'), { 'content-type': 'text/plain; charset=latin1' });
    expect(textOf(await fetchPage())).toMatch(/grün$/);
    handler = answer(Buffer.from('\ufeffgrün', 'utf16le'), { 'content-type': 'text/plain' });
    expect(textOf(await fetchPage())).toMatch(/grün$/);
  });

  it.each([
    ['its named type', 'image/png', 'xy', 'image/png, 2 bytes'],
    ['the type of its bytes', 'application/octet-stream', '%PDF-\0', 'application/pdf, 6 bytes'],
    ['its named type, even if it looks like text', 'application/pdf', '%PDF-1.4', 'application/pdf, 8 bytes'],
    ['its named type, if that is wrong', 'text/plain', 'a\0b', 'text/plain, 3 bytes'],
    [
      'no type, where it has none',
      'application/octet-stream',
      '\xff\xfe\xfd'.slice(2),
      'application/octet-stream, 1 bytes',
    ],
  ])('that is no text is shown by %s and its size', async (_what, type, body, expected) => {
    handler = answer(Buffer.from(body, 'latin1'), { 'content-type': type });
    expect(textOf(await fetchPage())).toMatch(new RegExp(`\\[no text: ${expected}\\]$`));
  });

  it('that is large and no text is shown by the size that the server names', async () => {
    handler = answer(Buffer.alloc(6 * MIB, 1), {
      'content-type': 'application/zip',
      'content-length': String(6 * MIB),
    });
    expect(textOf(await fetchPage())).toMatch(/\[no text: application\/zip, 6291456 bytes\]$/);
  });

  it('without text says so', async () => {
    handler = answer('<script>render()</script>', HTML);
    expect(textOf(await fetchPage())).toMatch(/200 OK\n\n\[no text\]$/);
  });

  it('that the server refuses is an error with what it says', async () => {
    handler = answer('<title>Gone</title><p>Moved away.', HTML, 410);
    const outcome = await fetchPage();
    expect(outcome).toMatchObject({ isError: true, error: { code: 'TOOL_ERROR', name: 'HttpStatus' } });
    expect(textOf(outcome)).toBe(`${server.url()}\n410 Gone\nTitle: Gone\n\nMoved away.`);
  });
});

describe('a page that is too large', () => {
  it('is cut at max_characters, between characters, and says so', async () => {
    handler = answer('ab😀cd', { 'content-type': 'text/plain' });
    expect(textOf(await fetchPage({ max_characters: 3 }))).toMatch(/\nab\n\[the first 3 of 6 characters\]$/);
    expect(textOf(await fetchPage({ max_characters: 4 }))).toMatch(
      /\nab😀\n\[the first 4 of 6 characters\]$/,
    );
    expect(textOf(await fetchPage({ max_characters: 6 }))).toMatch(/\nab😀cd$/);
  });

  it('is read up to 5 MiB and says so, and the connection is closed', async () => {
    handler = answer('x'.repeat(6 * MIB), { 'content-type': 'text/plain' });
    const text = textOf(await fetchPage());
    expect(text).toMatch(/\n\[the page is larger than 5242880 bytes; its end was not read\]$/);
    expect(Buffer.byteLength(text)).toBeLessThan(MAX_RESULT_BYTES);
    expect(Math.max(...[...fixture.blobs.values()].map((blob) => blob.length))).toBeLessThan(5 * MIB + 200);
    await until(() => server.openConnections() === 0);
  });

  it('says so where it nests too deep', async () => {
    handler = answer(`a${'<div>'.repeat(5000)}b`, HTML);
    expect(textOf(await fetchPage())).toMatch(
      /\na\n\[the page is too long or too deeply nested; its end is missing\]$/,
    );
  });
});

describe('web_fetch', () => {
  it('refuses private addresses where nothing else is said', async () => {
    await fixture.remove();
    await useTool({});
    for (const url of [
      server.url(),
      server.url('/', 'localhost'),
      'http://169.254.169.254/latest/meta-data',
    ]) {
      expect(await fetchPage({ url })).toMatchObject({ isError: true, error: { code: 'TOOL_ERROR' } });
    }
    expect(server.connections()).toBe(0);
  });

  it('refuses a redirect to a private address', async () => {
    handler = answer('', { location: 'http://169.254.169.254/latest/meta-data' }, 302);
    const outcome = await fetchPage();
    expect(outcome).toMatchObject({ isError: true, error: { code: 'TOOL_ERROR' } });
    expect(textOf(outcome)).toBe(
      'Error: 169.254.169.254 is not on the public internet, and only public addresses may be requested.',
    );
  });

  it('gives up after 5 redirects', async () => {
    handler = answer('', { location: '/again' }, 302);
    expect(textOf(await fetchPage())).toContain('redirects on after 5 redirects');
    expect(server.requests).toHaveLength(6);
  });

  it('gives up where the whole answer takes too long', async () => {
    await fixture.remove();
    await useTool({ isAllowedAddress: () => true, timeoutMs: 100 });
    handler = (_request, response) => response.write('a beginning');
    expect(textOf(await fetchPage())).toBe('Error: There was no whole answer within 0.1 s.');
    await until(() => server.openConnections() === 0);
  });

  it('closes its socket when it is cancelled', async () => {
    handler = () => {};
    const controller = new AbortController();
    const running = fetchPage({}, controller.signal);
    await until(() => server.requests.length === 1);
    controller.abort(new Error('cancelled'));
    await expect(running).rejects.toThrow('cancelled');
    await until(() => server.openConnections() === 0);
  });

  it.each([
    ['not a URL', 'is not a valid URL'],
    ['ftp://site.test/', 'not ftp:'],
    ['https://me:secret@site.test/', 'must not hold a user name'],
  ])('does not run with the address %s', async (url, message) => {
    const outcome = await fetchPage({ url });
    expect(outcome.error?.code).toBe('INVALID_ARGS');
    expect(textOf(outcome)).toContain(message);
  });

  it('says who it is and sends no cookies', async () => {
    handler = answer('', { 'set-cookie': 'a=b', location: '/next' }, 302);
    await fetchPage();
    expect(server.requests[1]?.headers['user-agent']).toContain('turnkeeper web_fetch');
    expect(server.requests[1]?.headers.cookie).toBeUndefined();
  });

  it('shows the address to the person who is asked, and is known again by it', async () => {
    const tool = createWebFetchTool();
    const args = { url: 'https://site.example/', max_characters: 5 };
    expect(await tool.preview?.(args, fixture.context())).toEqual({ kind: 'text', text: args.url });
    expect(tool.grantArguments).toEqual(['url']);
  });
});
