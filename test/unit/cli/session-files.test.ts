import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { runCli } from '../../../src/cli/program.js';
import { call, newSession, startApi, type ApiServer } from '../../api/api-server.js';
import { TurnDriver } from '../../api/turn-driver.js';
import { fakeIo } from './fake-io.js';

let folder: string;
let api: ApiServer;
let now: number;
beforeEach(async () => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'turnkeeper-cli-')));
  now = Date.now();
  api = await startApi({ clock: () => now });
});
afterEach(async () => {
  await api.stop();
  rmSync(folder, { recursive: true, force: true });
});

const cli = async (args: string[], stdin?: string) => {
  const env = { TURNKEEPER_HOME: folder, HOME: folder, TURNKEEPER_SERVER: api.url };
  const io = fakeIo({ env, cwd: folder, ...(stdin === undefined ? {} : { stdin }) });
  return { code: await runCli(args, io), ...io.written };
};

async function answered(id: string): Promise<void> {
  await newSession(api, { id });
  await call(`${api.url}/v1/sessions/${id}/prompts`, 'POST', { text: 'Grüße 🧭' });
  const driver = new TurnDriver(api.store, await api.uidOf(id));
  await driver.enter();
  await driver.attempt();
  await driver.message('Answer.');
  await driver.end();
}

describe('export and import', () => {
  it('carry a session in a file, and print its new id', async () => {
    await answered('s');
    expect(await cli(['export', 's', '--with-blobs', '--output', 's.jsonl'])).toMatchObject({
      code: 0,
      out: '',
    });
    expect(readdirSync(folder)).toEqual(['s.jsonl']);
    expect(statSync(join(folder, 's.jsonl')).mode & 0o077).toBe(0);
    const result = await cli(['import', 's.jsonl', '--id', 'copy', '--cwd', '.']);
    expect(result).toMatchObject({ code: 0, out: 'copy\n', err: '' });
    const { body } = await call(`${api.url}/v1/sessions/copy`, 'GET');
    expect(body).toMatchObject({ workspace: folder, status: 'idle' });
  });

  it('carry it through pipes', async () => {
    await answered('s');
    const { out } = await cli(['export', 's', '--with-blobs']);
    expect(out.split('\n')[0]).toContain('"format":"turnkeeper-session"');
    expect(await cli(['import', '-', '--id', 'copy'], out)).toMatchObject({ code: 0, out: 'copy\n' });
  });

  it('print the plain log as before, to a file too', async () => {
    await answered('s');
    const { out } = await cli(['export', 's']);
    const { body } = await call(`${api.url}/v1/sessions/s/events?limit=1000`, 'GET');
    expect(
      out
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line) as unknown),
    ).toEqual((body as { items: unknown[] }).items);
    await cli(['export', 's', '--output', 'log.ndjson']);
    expect(readFileSync(join(folder, 'log.ndjson'), 'utf8')).toBe(out);
  });

  it('say where a file is damaged, and with --repair what is lost', async () => {
    await answered('s');
    const { out } = await cli(['export', 's', '--with-blobs']);
    writeFileSync(join(folder, 'cut.jsonl'), out.split('\n').slice(0, -3).join('\n') + '\n');
    const refused = await cli(['import', 'cut.jsonl', '--id', 'copy']);
    expect(refused.code).toBe(1);
    expect(refused.err).toMatch(/Line \d+ is missing: the file was cut before it.*FILE_DAMAGED/);
    const repaired = await cli(['import', 'cut.jsonl', '--id', 'copy', '--repair']);
    expect(repaired).toMatchObject({ code: 0, out: 'copy\n' });
    expect(repaired.err).toMatch(/Events that are missing: 1\./);
  });

  it('leave nothing half written, and explain files that cannot be used', async () => {
    await answered('s');
    expect((await cli(['export', 'none', '--with-blobs', '--output', 'x.jsonl'])).code).toBe(1);
    expect(existsSync(join(folder, 'x.jsonl'))).toBe(false);
    expect(readdirSync(folder)).toEqual([]);
    for (const [args, message] of [
      [['import', 'missing.jsonl'], 'missing.jsonl does not exist'],
      [['import', '.'], 'is a folder'],
      [['export', 's', '--output', 'no/where'], 'does not exist'],
    ] as const) {
      const result = await cli([...args]);
      expect(result.code).toBe(1);
      expect(result.err).toContain(message);
      expect(result.err).not.toContain('    at ');
    }
    expect((await cli(['export', 's', '--with-blobs', '--request', '1/1'])).code).toBe(2);
  });
});

describe('deleting on the command line', () => {
  const ids = async () =>
    ((await call(`${api.url}/v1/sessions`, 'GET')).body as { items: { id: string }[] }).items.map(
      ({ id }) => id,
    );

  it('takes the sessions that are named', async () => {
    for (const id of ['a', 'b', 'c']) await newSession(api, { id });
    expect(await cli(['sessions', 'delete', 'a', 'c'])).toMatchObject({ code: 0, out: 'a\nc\n' });
    expect(await ids()).toEqual(['b']);
    expect((await cli(['sessions', 'delete', 'a'])).code).toBe(1);
    expect((await cli(['sessions', 'delete'])).code).toBe(2);
  });

  it('prunes those in which nothing was done for long, and only says which with --dry-run', async () => {
    now = Date.now() - 40 * 86_400_000;
    for (const id of ['old', 'busy', 'used']) await newSession(api, { id });
    await call(`${api.url}/v1/sessions/busy/prompts`, 'POST', { text: 'go' });
    now = Date.now();
    await newSession(api, { id: 'new' });
    await call(`${api.url}/v1/sessions/used`, 'PATCH', { title: 'Used' });
    const dry = await cli(['sessions', 'prune', '--older-than', '30d', '--dry-run']);
    expect(dry).toMatchObject({ code: 0, err: '1 would be deleted\n' });
    expect(dry.out).toMatch(/^old {2}/);
    expect(await ids()).toHaveLength(4);
    const pruned = await cli(['sessions', 'prune', '--older-than', '30d']);
    expect(pruned).toMatchObject({ code: 0, err: '1 deleted\n', out: dry.out });
    expect((await ids()).sort()).toEqual(['busy', 'new', 'used']);
    for (const age of [[], ['--older-than', '30'], ['--older-than', 'soon']]) {
      expect((await cli(['sessions', 'prune', ...age])).code).toBe(2);
    }
  });

  it('leaves the list what it was', async () => {
    await newSession(api, { id: 'a' });
    for (const args of [
      ['sessions'],
      ['sessions', 'list'],
      ['sessions', '--json'],
      ['sessions', '--limit', '1'],
    ]) {
      const { code, out } = await cli(args);
      expect(code).toBe(0);
      expect(out).toContain('a');
    }
  });
});
