import { mkdirSync, mkdtempSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { call, newSession, startApi, type ApiServer } from './api-server.js';

let api: ApiServer;
afterEach(() => api.stop());

const create = (workspace: string) => call(`${api.url}/v1/sessions`, 'POST', { workspace });

describe('a workspace that a caller asks for', () => {
  it.each(['relative/folder', '~/work', '/does/not/exist', '', 'C:\\work'])(
    'is refused as invalid: %j',
    async (workspace) => {
      api = await startApi();
      const answer = await create(workspace);
      expect(answer.status).toBe(400);
      expect(answer.body).toMatchObject({ code: 'INVALID_REQUEST', field: 'workspace' });
    },
  );

  it.each([
    '/',
    '/etc',
    '/usr',
    '/usr/lib',
    '/proc',
    '/proc/self',
    '/sys',
    '/dev',
    '/var',
    '/home',
    '/tmp/../etc',
  ])('is refused as a system folder: %s', async (workspace) => {
    api = await startApi();
    const answer = await create(workspace);
    expect(answer.status).toBe(403);
    expect(answer.body).toMatchObject({ code: 'WORKSPACE_NOT_ALLOWED', field: 'workspace' });
  });

  it('is refused where it is a file, and where a link leads to a system folder', async () => {
    api = await startApi();
    const file = join(api.workspace, 'file');
    writeFileSync(file, '');
    expect((await create(file)).body).toMatchObject({ code: 'INVALID_REQUEST' });
    const link = join(api.workspace, 'link');
    symlinkSync('/etc', link);
    expect((await create(link)).body).toMatchObject({ code: 'WORKSPACE_NOT_ALLOWED' });
  });

  it('is stored as what a link leads to', async () => {
    api = await startApi();
    const real = join(api.workspace, 'real');
    mkdirSync(real);
    symlinkSync(real, join(api.workspace, 'link'));
    const session = await newSession(api, { workspace: join(api.workspace, 'link') });
    expect(session.workspace).toBe(real);
  });

  it('is refused in the home, which holds the logs of all sessions', async () => {
    const folder = realpathSync(mkdtempSync(join(tmpdir(), 'turnkeeper-home-')));
    api = await startApi({ settings: { closedFolders: [folder] } });
    mkdirSync(join(folder, 'inside'));
    for (const workspace of [folder, join(folder, 'inside')]) {
      expect((await create(workspace)).body).toMatchObject({ code: 'WORKSPACE_NOT_ALLOWED' });
    }
  });

  it("is refused where it is another session's own folder", async () => {
    api = await startApi();
    const { workspace } = await newSession(api);
    expect((await create(workspace)).body).toMatchObject({ code: 'WORKSPACE_NOT_ALLOWED' });
  });

  it('is refused outside of the configured roots, also by a link, and taken inside of them', async () => {
    api = await startApi();
    const root = join(api.workspace, 'root');
    const inside = join(root, 'inside');
    const sibling = join(api.workspace, 'root-of-another');
    mkdirSync(inside, { recursive: true });
    mkdirSync(sibling);
    symlinkSync(sibling, join(root, 'out'));
    const limited = await startApi({ settings: { workspaceRoots: [root] } });
    try {
      const ask = (workspace: string) => call(`${limited.url}/v1/sessions`, 'POST', { workspace });
      expect((await ask(inside)).status).toBe(201);
      expect((await ask(root)).status).toBe(201);
      for (const outside of [api.workspace, sibling, join(root, 'out')]) {
        expect((await ask(outside)).body).toMatchObject({ code: 'WORKSPACE_NOT_ALLOWED', status: 403 });
      }
    } finally {
      await limited.stop();
    }
  });
});
