import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import type { SessionUid } from '../../src/contract/ids.js';
import { ASK_RULES, askingTools } from '../support/asking-tools.js';
import { turnSetup, untilEvent, type TurnSetup } from '../support/turn-setup.js';
import type { TurnApi } from '../support/turn-api.js';

const { startWithApi } = turnSetup();

const uidOf = async ({ runtime }: TurnSetup): Promise<SessionUid> =>
  (await runtime.store.findSession('default', 's' as never))!.uid;

/** The workflow of turn 1 has ended, and nothing of the session can be found any more. */
async function expectGone({ runtime, client, url }: TurnSetup & TurnApi, uid: SessionUid): Promise<void> {
  await runtime.client.workflow.getHandle(`${runtime.deployment}/turn/${uid}/1`).result();
  await expect(runtime.store.readState(uid)).rejects.toMatchObject({ code: 'SESSION_NOT_FOUND' });
  for (const path of ['', '/turns', '/turns/1', '/events', '/messages', '/approvals', '/questions']) {
    expect((await fetch(`${url}/v1/sessions/s${path}`)).status).toBe(404);
  }
  for (const call of [
    () => client.prompt('s', { text: 'a' }),
    () => client.cancel('s'),
    () => client.deleteSession('s'),
    () => client.uploadBlob('s', new Uint8Array([1]), 'application/octet-stream'),
    () => client.removeQueued('s', 'x'),
  ]) {
    await expect(call()).rejects.toMatchObject({ code: 'NOT_FOUND' });
  }
  expect((await client.approvals({ status: 'all' })).items).toEqual([]);
  // The id is free, and nothing of the old turn reaches the new session.
  await client.createSession({ id: 's' });
  expect(await client.session('s')).toMatchObject({ status: 'idle', headSeq: 0 });
}

describe('a session that is deleted', () => {
  it('while its model is silent has the socket closed and its turn ended', async () => {
    const setup = await startWithApi(() => ({ connection: 'silence' }));
    await setup.client.createSession({ id: 's' });
    const uid = await uidOf(setup);
    await setup.client.prompt('s', { text: 'go' });
    const request = await setup.model.request(1);
    await setup.client.deleteSession('s');
    expect((await request.closed).early).toBe(true);
    await expectGone(setup, uid);
    expect(setup.model.requests).toHaveLength(1);
  });

  it('while a command runs leaves no process of it', async () => {
    const marker = `4444${String(process.pid)}`;
    const setup = await startWithApi([
      { calls: [{ name: 'bash', arguments: { command: `setsid sleep ${marker} & sleep ${marker}` } }] },
    ]);
    await setup.client.createSession({ id: 's' });
    const uid = await uidOf(setup);
    await setup.client.prompt('s', { text: 'go' });
    await untilEvent(setup.runtime, uid, ({ type }) => type === 'tool/started');
    const processes = () => execFileSync('ps', ['-eo', 'args'], { encoding: 'utf8' });
    await expect.poll(processes).toContain(`sleep ${marker}`);
    await setup.client.deleteSession('s');
    await expect.poll(processes, { timeout: 5000 }).not.toContain(`sleep ${marker}`);
    await expectGone(setup, uid);
  });

  it('while it waits for a person waits no more', async () => {
    const setup = await startWithApi([{ calls: [{ name: 'deliver', arguments: { text: 'milk' } }] }], {
      tools: askingTools([]),
      profile: { permission: 'workspace-write', rules: ASK_RULES },
    });
    await setup.client.createSession({ id: 's' });
    const uid = await uidOf(setup);
    await setup.client.prompt('s', { text: 'go' });
    await untilEvent(setup.runtime, uid, ({ type }) => type === 'approval/asked');
    await setup.client.deleteSession('s');
    await expectGone(setup, uid);
  });

  it('without a word to the engine ends its turn', async () => {
    const setup = await startWithApi(() => ({ connection: 'silence' }));
    await setup.client.createSession({ id: 's' });
    const uid = await uidOf(setup);
    await setup.client.prompt('s', { text: 'go' });
    const request = await setup.model.request(1);
    await setup.runtime.store.deleteSession(uid);
    expect((await request.closed).early).toBe(true);
    await expectGone(setup, uid);
  });
});
