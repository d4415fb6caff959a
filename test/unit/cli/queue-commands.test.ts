/** `queue`, and `prompt` with what becomes of it where a turn is open, against the real API. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { runCli } from '../../../src/cli/program.js';
import type { SessionResource } from '../../../src/contract/http.js';
import { call, newSession, startApi, type ApiServer } from '../../api/api-server.js';
import { TurnDriver } from '../../api/turn-driver.js';
import { fakeIo } from './fake-io.js';

let api: ApiServer;
beforeEach(async () => {
  api = await startApi();
  await newSession(api, { id: 's' });
  await cli('prompt', 's', 'first');
  await new TurnDriver(api.store, await api.uidOf('s')).enter();
});
afterEach(() => api.stop());

const cli = async (...args: string[]) => {
  const io = fakeIo({ env: { TURNKEEPER_SERVER: api.url } });
  return { code: await runCli(args, io), ...io.written };
};
const queue = async () => ((await call(`${api.url}/v1/sessions/s`, 'GET')).body as SessionResource).queue;

describe('turnkeeper queue', () => {
  it('lists what waits, for people and for programs, and says where nothing does', async () => {
    expect(await cli('queue', 's')).toEqual({ code: 0, out: '', err: 'Nothing waits.\n' });
    await cli('prompt', 's', 'two\nlines\u202e');
    await cli('prompt', 's', 'quick', '--mode', 'steer');
    const [steer, queued] = await queue();
    const { out } = await cli('queue', 's');
    expect(out.split('\n').map((line) => line.split(/ {2,}/))).toEqual([
      ['ITEM', 'AS', 'CAME', 'TEXT'],
      [steer?.itemId, 'steer', steer?.at, 'quick'],
      [queued?.itemId, 'queue', queued?.at, 'two lines\\u202e'],
      [''],
    ]);
    const lines = (await cli('queue', 'list', 's', '--json')).out.trim().split('\n');
    expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual([steer, queued]);
  });

  it('edits, moves and removes an item', async () => {
    await cli('prompt', 's', 'second');
    const [{ itemId } = { itemId: '' }] = await queue();
    expect((await cli('queue', 'edit', 's', itemId, 'other')).out).toBe(`edited ${itemId}\n`);
    expect((await cli('queue', 'steer', 's', itemId)).out).toBe('steer at position 0\n');
    expect(await queue()).toMatchObject([{ target: 'next-step', content: [{ text: 'other' }] }]);
    expect((await cli('queue', 'wait', 's', itemId)).out).toBe('queue at position 0\n');
    expect((await cli('queue', 'remove', 's', itemId)).out).toBe(`removed ${itemId}\n`);
    expect(await queue()).toEqual([]);
    expect(await cli('queue', 'remove', 's', itemId)).toMatchObject({ code: 1, out: '' });
  });
});

describe('turnkeeper prompt --when-running', () => {
  it('reject fails while a turn is open, and stores nothing', async () => {
    const { code, err } = await cli('prompt', 's', 'now', '--when-running', 'reject');
    expect(code).toBe(1);
    expect(err).toContain('open turn');
    expect(await queue()).toEqual([]);
  });

  it('interrupt cancels the turn and goes first', async () => {
    await cli('prompt', 's', 'later');
    expect((await cli('prompt', 's', 'now', '--when-running', 'interrupt')).out).toBe(
      'waiting at position 0\n',
    );
    expect(await queue()).toMatchObject([{ content: [{ text: 'now' }] }, { content: [{ text: 'later' }] }]);
    expect((await call(`${api.url}/v1/sessions/s`, 'GET')).body).toMatchObject({ status: 'cancelling' });
  });
});
