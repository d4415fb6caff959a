/** `turnkeeper turns` against the real API. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import { runCli } from '../../../src/cli/program.js';
import { call, newSession, startApi, type ApiServer } from '../../api/api-server.js';
import { TurnDriver } from '../../api/turn-driver.js';
import { fakeIo } from './fake-io.js';

let api: ApiServer;
beforeEach(async () => {
  api = await startApi();
  for (const [id, team] of [
    ['a', 'docs'],
    ['b', 'web'],
  ] as const) {
    await newSession(api, { id, metadata: { team } });
    await call(`${api.url}/v1/sessions/${id}/prompts`, 'POST', { text: 'go' });
  }
  await new TurnDriver(api.store, await api.uidOf('a')).wholeTurn('done');
});
afterEach(() => api.stop());

const turns = async (...args: string[]) => {
  const io = fakeIo({ env: { TURNKEEPER_SERVER: api.url } });
  return { code: await runCli(['turns', ...args], io), ...io.written };
};
const cells = (out: string) => out.split('\n').map((line) => line.split(/ {2,}/));

it('lists the turns of all sessions, for people and for programs', async () => {
  const table = await turns();
  expect(table).toMatchObject({ code: 0, err: '' });
  expect(cells(table.out)).toEqual([
    ['SESSION', 'TURN', 'STARTED', 'STEPS', 'STATUS'],
    ['b', '1', expect.any(String), '0', 'running'],
    ['a', '1', expect.any(String), '1', 'completed'],
    [''],
  ]);
  const limited = await turns('--json', '--limit', '1');
  expect(JSON.parse(limited.out)).toMatchObject({ sessionId: 'b', turn: 1 });
  expect(limited.err).toContain('--limit');
});

it('lists those that fit its filters, and says where there are none', async () => {
  expect(cells((await turns('--metadata', 'team=docs')).out)).toHaveLength(3);
  expect(cells((await turns('--status', 'running', '--session', 'b')).out)).toHaveLength(3);
  expect(await turns('--metadata', 'team=docs', '--status', 'running')).toMatchObject({
    code: 0,
    out: '',
    err: 'There are no such turns.\n',
  });
  expect(await turns('--since', '2999-01-01T00:00:00Z')).toMatchObject({ out: '' });
  expect(await turns('--metadata', 'team')).toMatchObject({ code: 2 });
});
