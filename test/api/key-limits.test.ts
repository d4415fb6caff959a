import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { makeKey, type TestKey } from './api-keys.js';
import { newSession, startApi, type ApiServer } from './api-server.js';

let api: ApiServer;
beforeEach(async () => {
  api = await startApi();
});
afterEach(() => api.stop());

const NOT_ALLOWED = { status: 403, code: 'PERMISSION_NOT_ALLOWED', field: 'permission' };

async function settingsOf(id: string) {
  return (await api.store.readState(await api.uidOf(id))).settings;
}

describe('the widest permission mode of a key', () => {
  it('is the widest that its sessions can ask for', async () => {
    const key = await makeKey(api, { permission: 'workspace-write' });
    const create = (permission: string) => key.call('POST', '/v1/sessions', { permission });
    expect((await create('read-only')).status).toBe(201);
    expect((await create('workspace-write')).status).toBe(201);
    const refused = await create('full-access');
    expect(refused.body).toMatchObject(NOT_ALLOWED);
    expect((refused.body as { detail: string }).detail).toContain('workspace-write');
    const job = await key.call('POST', '/v1/turns', { prompt: 'go', permission: 'full-access' });
    expect(job.body).toMatchObject(NOT_ALLOWED);
  });

  it('narrows a session that asks for nothing where the profile is wider, and only there', async () => {
    const key = await makeKey(api, { permission: 'read-only' });
    await key.call('POST', '/v1/sessions', { id: 'wide' });
    await key.call('POST', '/v1/sessions', { id: 'careful', profile: 'careful' });
    expect(await settingsOf('wide')).toMatchObject({ permission: 'read-only' });
    expect((await settingsOf('careful'))?.permission).toBeUndefined();
    const job = await key.call('POST', '/v1/turns', { prompt: 'go' });
    const { sessionId } = job.body as { sessionId: string };
    expect(await settingsOf(sessionId)).toMatchObject({ permission: 'read-only' });
  });

  it('holds when settings are changed', async () => {
    const key = await makeKey(api, { permission: 'read-only' });
    await key.call('POST', '/v1/sessions', { id: 's', profile: 'careful' });
    const patch = (body: unknown) => key.call('PATCH', '/v1/sessions/s', body);
    expect((await patch({ permission: 'workspace-write' })).body).toMatchObject(NOT_ALLOWED);
    expect((await patch({ title: 'Another' })).status).toBe(200);
    expect((await settingsOf('s'))?.permission).toBeUndefined();
    expect((await patch({ profile: 'default' })).body).toMatchObject({
      profile: 'default',
      permission: 'read-only',
    });
  });

  it('keeps the key from working with wider sessions, which it can read, cancel and narrow', async () => {
    await newSession(api, { id: 'set', permission: 'full-access' });
    await newSession(api, { id: 'by-profile' });
    const key = await makeKey(api, { permission: 'read-only' });
    for (const id of ['set', 'by-profile']) {
      const prompt = () => key.call('POST', `/v1/sessions/${id}/prompts`, { text: 'go' });
      expect((await prompt()).body).toMatchObject(NOT_ALLOWED);
      const job = await key.call('POST', '/v1/turns', { prompt: 'go', sessionId: id });
      expect(job.body).toMatchObject(NOT_ALLOWED);
      expect((await key.call('PATCH', `/v1/sessions/${id}`, { title: 'mine' })).body).toMatchObject(
        NOT_ALLOWED,
      );
      expect((await api.store.readState(await api.uidOf(id))).openTurn).toBeNull();
      expect((await key.call('GET', `/v1/sessions/${id}`)).status).toBe(200);
      expect((await key.call('POST', `/v1/sessions/${id}/cancel`, {})).status).toBe(200);
      expect((await key.call('PATCH', `/v1/sessions/${id}`, { permission: 'read-only' })).status).toBe(200);
      expect((await prompt()).status).toBe(202);
    }
  });

  it('keeps the key from taking prompts out of the queue of a wider session', async () => {
    await newSession(api, { id: 'wide', permission: 'full-access' });
    const wide = await makeKey(api, { permission: 'full-access' });
    await wide.call('POST', '/v1/sessions/wide/prompts', { text: 'first' });
    const queued = await wide.call('POST', '/v1/sessions/wide/prompts', { text: 'second' });
    const { itemId } = queued.body as { itemId: string };
    const narrow = await makeKey(api, { permission: 'read-only' });
    const refused = await narrow.call('DELETE', `/v1/sessions/wide/queue/${itemId}`);
    expect(refused.body).toMatchObject(NOT_ALLOWED);
    expect((await wide.call('DELETE', `/v1/sessions/wide/queue/${itemId}`)).status).toBe(204);
  });

  it('also refuses a prompt that a wider key has sent before', async () => {
    const wide = await makeKey(api, { permission: 'full-access' });
    const narrow = await makeKey(api, { permission: 'read-only' });
    const job = { prompt: 'go', requestId: 'r' };
    expect((await wide.call('POST', '/v1/turns', job)).status).toBe(202);
    expect((await narrow.call('POST', '/v1/turns', job)).body).toMatchObject(NOT_ALLOWED);
  });
});

describe('the workspaces of a key', () => {
  let root: string;
  beforeEach(() => {
    root = join(api.workspace, 'root');
    mkdirSync(join(root, 'inside'), { recursive: true });
    mkdirSync(join(api.workspace, 'outside'));
    symlinkSync(join(api.workspace, 'outside'), join(root, 'link'));
  });
  const create = (key: TestKey, workspace: string) => key.call('POST', '/v1/sessions', { workspace });

  it('are fresh ones where it has no folders', async () => {
    const key = await makeKey(api);
    const fresh = await key.call('POST', '/v1/sessions', { id: 'fresh' });
    expect((fresh.body as { workspace: string }).workspace.startsWith(api.workspacesFolder)).toBe(true);
    expect((await key.call('POST', '/v1/sessions/fresh/prompts', { text: 'go' })).status).toBe(202);
    for (const workspace of [root, join(root, 'inside'), '/tmp', '/nowhere/at/all']) {
      const { body } = await create(key, workspace);
      expect(body, workspace).toMatchObject({ status: 403, code: 'WORKSPACE_NOT_ALLOWED' });
    }
  });

  it('are inside of its folders, also behind links, and what is outside looks alike', async () => {
    const key = await makeKey(api, { workspaceRoots: [root] });
    expect((await create(key, root)).status).toBe(201);
    expect((await create(key, join(root, 'inside'))).status).toBe(201);
    const details = new Set<string>();
    for (const workspace of [
      join(root, 'link'),
      join(root, 'inside', '..', '..', 'outside'),
      join(api.workspace, 'outside'),
      join(api.workspace, 'not-there'),
    ]) {
      const { body } = await create(key, workspace);
      expect(body, workspace).toMatchObject({ status: 403, code: 'WORKSPACE_NOT_ALLOWED' });
      details.add((body as { detail: string }).detail);
    }
    expect(details.size).toBe(1);
  });

  it('are never wider than those of the server', async () => {
    const limited = await startApi({ settings: { workspaceRoots: [join(root, 'inside')] } });
    try {
      const key = await makeKey(limited, { workspaceRoots: [root] });
      expect((await create(key, join(root, 'inside'))).status).toBe(201);
      expect((await create(key, root)).body).toMatchObject({ code: 'WORKSPACE_NOT_ALLOWED' });
    } finally {
      await limited.stop();
    }
  });

  it('keep it from working in the folders of others, whatever their mode', async () => {
    await newSession(api, { id: 'theirs', workspace: join(api.workspace, 'outside') });
    await newSession(api, { id: 'mine', workspace: join(root, 'inside') });
    const key = await makeKey(api, { workspaceRoots: [root] });
    const prompt = (id: string) => key.call('POST', `/v1/sessions/${id}/prompts`, { text: 'go' });
    expect((await prompt('mine')).status).toBe(202);
    for (const refused of [
      await prompt('theirs'),
      await key.call('PATCH', '/v1/sessions/theirs', { title: 'mine' }),
      await key.call('POST', '/v1/turns', { prompt: 'go', sessionId: 'theirs' }),
    ]) {
      expect(refused.body).toMatchObject({ status: 403, code: 'WORKSPACE_NOT_ALLOWED' });
    }
    expect((await key.call('GET', '/v1/sessions/theirs')).status).toBe(200);
  });
});
