import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { makeHome } from '../support/home-folder.js';
import { runSchemathesis } from '../support/schemathesis.js';
import { runCli, startServe } from '../support/serve-process.js';

const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

const EXCLUDED_CHECKS = [
  // Rules beyond what a schema says, such as "there is no such model", are refused with 400 and are no fault.
  'positive_data_acceptance',
  // "/v1/sessions/import" is also the path of a session of that name, so it has more methods than the description gives it.
  'allow_header_conformance',
].join(',');
/** Never ends. What it sends has tests of its own. */
const EXCLUDED_PATH = '/v1/events';

async function serveWithKey(): Promise<{ url: string; key: string }> {
  const folder = makeHome('http://127.0.0.1:9', { providers: {}, profiles: {} });
  ends.push(() => {
    folder.remove();
  });
  const rights = ['--name', 'reader', '--rights', 'submit,read,approve,admin'];
  const made = await runCli(['keys', 'create', '--home', folder.home, ...rights]);
  expect(made.code, made.stderr).toBe(0);
  const serve = await startServe({ home: folder.home });
  ends.push(() => serve.end('SIGTERM'));
  return { url: serve.url, key: made.stdout.trim() };
}

/** Leaves a session with an ended turn behind, so that there is something to show. */
async function runJob(url: string, key: string): Promise<void> {
  const answer = await fetch(`${url}/v1/turns?wait=60`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ prompt: 'write a.txt with A, then list files, then run ls', unattended: true }),
  });
  expect(answer.status).toBe(200);
}

describe('the API', () => {
  it('answers calls that fit its description and calls that do not as the description says', async () => {
    const { url, key } = await serveWithKey();
    await runJob(url, key);
    const cwd = mkdtempSync(join(tmpdir(), 'turnkeeper-schemathesis-'));
    ends.push(() => {
      rmSync(cwd, { recursive: true, force: true });
    });
    const { code, output } = await runSchemathesis(
      [
        `${url}/openapi.json`,
        ...['--header', `Authorization: Bearer ${key}`],
        ...['--checks', 'all', '--exclude-checks', EXCLUDED_CHECKS, '--exclude-path', EXCLUDED_PATH],
        ...['--seed', '1', '--max-examples', '8', '--generation-database', 'none'],
        ...['--request-timeout', '30', '--continue-on-failure'],
      ],
      cwd,
    );
    expect(code, output).toBe(0);
    // It has called all of them, and not come to an early end.
    expect(output).toMatch(/Selected: (\d+)\/\d+\s+Tested: \1\s/);
  });
});
