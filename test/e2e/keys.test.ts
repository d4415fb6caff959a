import { afterEach, describe, expect, it } from 'vitest';
import { createClient } from '../../src/client/client.js';
import { makeHome } from '../support/home-folder.js';
import { runCli, startServe } from '../support/serve-process.js';

const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

describe('a server that other machines can reach', () => {
  it('starts once there is a key, takes who has one, and refuses one that is revoked while it runs', async () => {
    const folder = makeHome('http://127.0.0.1:9', {
      server: { host: '0.0.0.0' },
      providers: {},
      profiles: {},
    });
    ends.push(() => {
      folder.remove();
    });
    const { home, workspace } = folder;
    const refused = await runCli(['serve', '--home', home, '--port', '0']);
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain('turnkeeper keys create');

    const rights = ['--rights', 'submit,read'];
    const create = (...args: string[]) => runCli(['keys', 'create', '--home', home, ...rights, ...args]);
    const first = await create('--name', 'ann', '--workspace-root', workspace);
    expect(first.code).toBe(0);
    const served = await startServe({ home });
    ends.push(() => served.end('SIGTERM'));
    expect(served.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    expect((await fetch(`${served.url}/v1/sessions`)).status).toBe(401);

    const env = { TURNKEEPER_API_KEY: first.stdout.trim() };
    const run = (cwd: string) =>
      runCli(['run', 'list files', '--home', home, '--session', 'of-ann', '--cwd', cwd], { env });
    expect((await run(home)).stderr).toContain('WORKSPACE_NOT_ALLOWED');
    expect(await run(workspace)).toMatchObject({ code: 0 });
    const second = await create('--name', 'bea', '--tenant', 'b');
    const bea = createClient({ baseUrl: served.url, apiKey: second.stdout.trim() });
    expect((await bea.listSessions()).items).toEqual([]);
    await expect(bea.session('of-ann')).rejects.toMatchObject({ code: 'NOT_FOUND' });

    const id = second.stdout.split('_')[1] ?? '';
    expect((await runCli(['keys', 'revoke', '--home', home, id])).code).toBe(0);
    await expect(bea.listSessions()).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
    expect((await runCli(['sessions', '--home', home], { env })).stdout).toContain('of-ann');
    expect(served.output()).not.toContain(first.stdout.trim().slice(-43));
  });
});
