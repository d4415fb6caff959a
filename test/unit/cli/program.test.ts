import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough, Writable } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { outputOf } from '../../../src/cli/cli-io.js';
import { runCli } from '../../../src/cli/program.js';
import { newSession, startApi, type ApiServer } from '../../api/api-server.js';
import { TurnDriver } from '../../api/turn-driver.js';
import { fakeIo } from './fake-io.js';

let home: string;
beforeEach(() => {
  home = realpathSync(mkdtempSync(join(tmpdir(), 'turnkeeper-cli-')));
});
afterEach(() => {
  rmSync(home, { recursive: true, force: true });
});

const cli = async (args: string[], options: Parameters<typeof fakeIo>[0] = {}) => {
  const io = fakeIo({ ...options, env: { TURNKEEPER_HOME: home, HOME: home, ...options.env } });
  return { code: await runCli(args, io), ...io.written };
};

describe('the command line', () => {
  it.each([
    [['--help'], 0],
    [['--version'], 0],
    [['run', '--help'], 0],
    [[], 2],
    [['dance'], 2],
    [['run', '--colour', 'red'], 2],
    [['run', 'a', 'b'], 2],
    [['run', 'a', '--permission', 'anything'], 2],
    [['run', 'a', '--max-steps', '0'], 2],
    [['run', 'a', '--timeout', 'soon'], 2],
    [['run', '  '], 2],
    [['run', 'a', '--server', 'not an address'], 2],
    [['follow'], 2],
    [['sessions', '--status', 'asleep'], 2],
  ])('with %j exits %i', async (args, code) => {
    expect((await cli(args)).code).toBe(code);
  });

  it('says what to do where no server runs', async () => {
    const { code, err } = await cli(['sessions']);
    expect(code).toBe(1);
    expect(err).toContain(home);
    expect(err).toContain('turnkeeper serve');
  });

  it('says so where a server cannot be reached', async () => {
    const { code, err } = await cli(['sessions', '--server', 'http://127.0.0.1:1']);
    expect(code).toBe(1);
    expect(err).toContain('http://127.0.0.1:1 cannot be reached');
  });

  it('shows the configuration with the source of each value', async () => {
    const { code, out } = await cli(['config'], { env: { TURNKEEPER_PORT: '9999' } });
    expect(code).toBe(0);
    expect(out).toMatch(/^server\.port: 9999 +\(TURNKEEPER_PORT\)$/m);
    expect(out).toMatch(/^server\.host: "127\.0\.0\.1" +\(default\)$/m);
  });

  it('explains a wrong configuration without a stack', async () => {
    const { code, err } = await cli(['config'], { env: { TURNKEEPER_PORT: 'many' } });
    expect(code).toBe(1);
    expect(err).toContain('TURNKEEPER_PORT');
    expect(err).not.toContain('    at ');
  });
});

describe('the commands over a server', () => {
  let api: ApiServer;
  beforeEach(async () => {
    api = await startApi();
    await newSession(api, { id: 's', title: 'A title' });
  });
  afterEach(() => api.stop());
  const there = (args: string[], options: Parameters<typeof fakeIo>[0] = {}) =>
    cli(args, { ...options, env: { TURNKEEPER_SERVER: api.url } });

  it('list sessions for people and for programs', async () => {
    const table = await there(['sessions']);
    expect(table.out).toMatch(/^SESSION +STATUS +UPDATED +TITLE\ns +idle +\S+ +A title\n$/);
    const lines = await there(['sessions', '--json', '--status', 'idle']);
    expect(JSON.parse(lines.out)).toMatchObject({ id: 's' });
    expect((await there(['sessions', '--status', 'running'])).out).toBe('');
  });

  it('send a prompt and tell its place, and cancel its turn', async () => {
    expect(await there(['prompt', 's', 'go'])).toMatchObject({ code: 0, out: 'turn 1\n' });
    expect((await there(['prompt', 's', '-'], { stdin: 'more' })).out).toBe('waiting at position 1\n');
    expect((await there(['cancel', 's'])).out).toBe('cancelling turn 1\n');
    expect((await there(['cancel', 's', '--turn', '7'])).code).toBe(1);
    expect((await there(['cancel', 'nope'])).err).toContain('NOT_FOUND');
  });

  it('follow a turn to its end', async () => {
    await there(['prompt', 's', 'go']);
    await new TurnDriver(api.store, await api.uidOf('s')).wholeTurn('the answer');
    const text = await there(['follow', 's', '--until-turn-end']);
    expect(text).toMatchObject({ code: 0 });
    expect(text.out).toContain('> go\nthe answer\n');
    const json = await there(['follow', 's', '--turn', '1', '--json', '--after', '1']);
    const lines = json.out.trimEnd().split('\n');
    expect(JSON.parse(lines[0]!)).toMatchObject({ seq: 2 });
    expect(JSON.parse(lines.at(-1)!)).toMatchObject({ type: 'turn/end' });
  });

  it('say that a session is not there', async () => {
    expect(await there(['follow', 'nope'])).toMatchObject({ code: 1, out: '' });
  });
});

describe('an output', () => {
  it('goes on without a reader that has left', async () => {
    const broken = new Writable({
      write: (_chunk, _encoding, done) => {
        done(Object.assign(new Error('write EPIPE'), { code: 'EPIPE' }));
      },
    });
    const output = outputOf(broken);
    await output.write('a');
    await output.write('b');
    expect(output.isTerminal).toBe(false);
  });

  it('writes everything in its order', async () => {
    const stream = new PassThrough();
    const output = outputOf(stream);
    await Promise.all([output.write('a'), output.write('b'), output.write('')]);
    stream.end();
    const chunks: Buffer[] = [];
    for await (const chunk of stream) chunks.push(chunk as Buffer);
    expect(Buffer.concat(chunks).toString()).toBe('ab');
  });
});
