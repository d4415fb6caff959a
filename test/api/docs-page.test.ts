import type { Browser } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { launchBrowser } from '../support/chromium.js';
import { makeKey } from './api-keys.js';
import { call, newSession, startApi, type ApiServer } from './api-server.js';

/** The first run on a machine may have to fetch it. */
const FETCH_TIMEOUT_MS = 300_000;

let browser: Browser;
beforeAll(async () => {
  browser = await launchBrowser();
}, FETCH_TIMEOUT_MS);
afterAll(() => browser.close());

let api: ApiServer;
beforeEach(async () => {
  api = await startApi();
});
afterEach(() => api.stop());

describe('the page of the API', () => {
  it('shows every call in a browser, and makes one with a key', async () => {
    await newSession(api, { id: 'shown' });
    const key = await makeKey(api);
    const page = await browser.newPage();
    const complaints: string[] = [];
    page.on('console', (message) => {
      if (message.type() === 'error') complaints.push(message.text());
    });
    page.on('pageerror', (error) => complaints.push(error.message));
    await page.goto(`${api.url}/docs`);
    await page.locator('.opblock').first().waitFor();
    const { body } = await call(`${api.url}/openapi.json`, 'GET');
    const methods = Object.values((body as { paths: Record<string, object> }).paths).flatMap(Object.keys);
    expect(await page.locator('.opblock').count()).toBe(methods.length);
    expect(complaints).toEqual([]);

    await page.locator('button.authorize').first().click();
    await page.locator('.auth-container input').fill(key.text);
    await page.locator('.auth-container button.authorize').click();
    await page.locator('.auth-container button.btn-done').click();
    const list = page.locator('.opblock-get', { has: page.locator('[data-path="/v1/sessions"]') });
    await list.locator('.opblock-summary-control').click();
    await list.locator('.try-out__btn').click();
    await list.locator('button.execute').click();
    const answer = list.locator('.live-responses-table .response-col_description code').first();
    await answer.waitFor();
    expect(await answer.textContent()).toContain('"shown"');
    expect(complaints).toEqual([]);
    await page.close();
  });

  it('needs no key, and its parts may be kept', async () => {
    await makeKey(api);
    const page = await fetch(`${api.url}/docs`);
    expect(page.headers.get('content-type')).toContain('text/html');
    expect(page.headers.get('cache-control')).toBe('no-store');
    const part = /src="([^"]+bundle\.js)"/.exec(await page.text())?.[1] ?? '';
    const script = await fetch(api.url + part);
    expect(script.status).toBe(200);
    expect(script.headers.get('content-type')).toContain('javascript');
    expect(script.headers.get('cache-control')).toContain('immutable');
    await script.body?.cancel();
  });

  it('gives out nothing else of the package, or of the disk', async () => {
    for (const path of [
      '/docs/1.2.3/package.json',
      '/docs/1.2.3/swagger-ui-bundle.js.map',
      '/docs/1.2.3/..%2f..%2fpackage.json',
      '/docs/1.2.3/index.html',
    ]) {
      expect((await call(api.url + path, 'GET')).status, path).toBe(404);
    }
    expect((await call(`${api.url}/docs`, 'POST', {})).body).toMatchObject({ code: 'METHOD_NOT_ALLOWED' });
  });
});
