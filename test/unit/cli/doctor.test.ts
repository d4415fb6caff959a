import { createServer, type Server } from 'node:http';
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { once } from 'node:events';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { runCli } from '../../../src/cli/program.js';
import { checkNodeVersion, OLDEST_NODE } from '../../../src/runtime/doctor/program-checks.js';
import type { NamedFinding } from '../../../src/runtime/doctor/run-doctor.js';
import { acquireHomeLock, type HomeLock } from '../../../src/runtime/home/home-lock.js';
import { openSqliteStore } from '../../../src/store/sqlite/open.js';
import { TestSession } from '../../contract/session-store/store-fixture.js';
import { environmentWithBubblewrap } from '../../support/bubblewrap.js';
import { fakeIo } from './fake-io.js';

let folder: string;
let home: string;
let lock: HomeLock | undefined;
let server: Server | undefined;
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'turnkeeper-doctor-')));
  home = join(folder, 'home');
  mkdirSync(home);
});
afterEach(() => {
  lock?.release();
  server?.close();
  [lock, server] = [undefined, undefined];
  rmSync(folder, { recursive: true, force: true });
});

async function doctor(args: string[] = [], env: NodeJS.ProcessEnv = {}) {
  const io = fakeIo({
    env: {
      PATH: process.env.PATH,
      HOME: folder,
      TURNKEEPER_HOME: home,
      TURNKEEPER_CACHE: join(folder, 'cache'),
      ...env,
    },
  });
  return { code: await runCli(['doctor', ...args], io), out: io.written.out };
}

async function findings(env: NodeJS.ProcessEnv = {}) {
  const { code, out } = await doctor(['--json'], env);
  const all = out
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as NamedFinding);
  return { code, of: (check: string) => all.find((finding) => finding.check === check)! };
}

/** A home with a server that answers `/readyz` so. */
async function serve(httpStatus: number, readiness: object): Promise<void> {
  server = createServer((_request, response) => {
    response.writeHead(httpStatus, { 'content-type': 'application/json' }).end(JSON.stringify(readiness));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  lock = acquireHomeLock(home);
  lock.publishServer(`http://127.0.0.1:${String((server.address() as AddressInfo).port)}`);
}

describe('the doctor', () => {
  it('says of each thing in a line how it is', async () => {
    const { code, out } = await doctor();
    expect(code).toBe(0);
    for (const line of out.trimEnd().split('\n')) expect(line).toMatch(/^(ok {5}|warning) {2}[a-z]+: .*\.$/);
    for (const check of [
      'configuration',
      'node',
      'home',
      'disk',
      'store',
      'sessions',
      'server',
      'temporal',
      'engine',
      'worker',
      'clock',
      'provider',
      'bash',
      'ripgrep',
      'sandbox',
      'turns',
    ]) {
      expect(out).toMatch(new RegExp(`^\\w+ +${check}: `, 'm'));
    }
  });

  it('leaves the home as it is', async () => {
    await doctor();
    expect(readdirSync(home)).toEqual([]);
  });

  it('ends with 1 where there is a problem', async () => {
    const { code, of } = await findings({ TURNKEEPER_PORT: 'many' });
    expect(code).toBe(1);
    expect(of('configuration')).toMatchObject({ status: 'problem' });
  });
});

describe('the check of the configuration', () => {
  const configured = (text: string) => {
    const file = join(folder, 'turnkeeper.config.yaml');
    writeFileSync(file, text);
    return findings({ TURNKEEPER_CONFIG: file });
  };

  it.each([
    ['a profile that extends none', 'profiles: { default: { extends: nobody } }', /extends.*nobody/],
    ['a provider that is not there', 'profiles: { default: { provider: nobody, model: m } }', /nobody/],
    [
      'a limit on cost without a price',
      'profiles: { default: { provider: p, model: m, limits: { costUsd: 1 } } }\n' +
        'providers: { p: { wire: chat-completions, baseUrl: "http://127.0.0.1:1", models: { m: {} } } }',
      /price/,
    ],
    ['an extension that is not there', 'extensions: [./missing.mjs]', /missing\.mjs, which does not exist/],
  ])('finds %s, on which no server starts, and goes on', async (_what, text, message) => {
    const { code, of } = await configured(text);
    expect(of('configuration')).toMatchObject({
      status: 'problem',
      message: expect.stringMatching(message) as string,
    });
    expect(of('node').status).toBe('ok');
    expect(code).toBe(1);
  });

  it('names the file that is in order', async () => {
    const { of } = await configured('profiles: { default: { provider: demo, model: demo } }');
    expect(of('configuration')).toMatchObject({
      status: 'ok',
      message: expect.stringContaining('turnkeeper.config.yaml') as string,
    });
  });
});

describe('the check of the home', () => {
  it('says that it will be made', async () => {
    expect((await findings({ TURNKEEPER_HOME: join(folder, 'new') })).of('home')).toMatchObject({
      status: 'ok',
      message: expect.stringContaining('will be made') as string,
    });
  });

  it('warns of one that other users may look into, and not of one that is closed', async () => {
    for (const [mode, status] of [
      [0o755, 'warning'],
      [0o700, 'ok'],
    ] as const) {
      chmodSync(home, mode);
      expect((await findings()).of('home').status).toBe(status);
    }
  });

  it('finds one that cannot be a folder', async () => {
    writeFileSync(join(folder, 'file'), '');
    const { code, of } = await findings({ TURNKEEPER_HOME: join(folder, 'file') });
    expect(of('home')).toMatchObject({ status: 'problem' });
    expect(code).toBe(1);
  });
});

describe('the check of the session log', () => {
  it('opens it, and a running server does not notice', async () => {
    const store = await openSqliteStore({ path: join(home, 'sessions.db'), clock: Date.now });
    expect((await findings()).of('store')).toMatchObject({
      status: 'ok',
      message: expect.stringContaining('0 sessions') as string,
    });
    expect(await store.ping()).toBe(true);
    await store.close();
  });

  it('finds a file that is no database, and leaves it alone', async () => {
    const file = join(home, 'sessions.db');
    writeFileSync(file, 'something else, and long enough to be looked at as the header of a database');
    const before = readFileSync(file);
    expect((await findings()).of('store')).toMatchObject({ status: 'problem' });
    expect(readFileSync(file)).toEqual(before);
  });
});

describe('an open turn', () => {
  it('is explained, also alone, and a session that is not there is told so', async () => {
    const store = await openSqliteStore({ path: join(home, 'sessions.db'), clock: Date.now });
    for (const id of ['first', 'second', 'idle']) {
      const session = await TestSession.create(() => store);
      if (id !== 'idle') await session.prompt();
    }
    const [idle, second] = await store.listSessions({ tenant: 'tenant', limit: 10 });
    await store.close();
    const { of } = await findings();
    expect(of('turns').status).toBe('warning');
    expect(of('turns').message).toContain('2 turns are open.');
    expect(of('turns').message).toContain(`${String(second?.id)}, turn 1 waits for a server since`);
    const alone = async (id: string | undefined) => (await doctor(['--session', String(id)])).out;
    expect(await alone(second?.id)).toContain('turns: One turn is open.');
    expect(await alone(idle?.id)).toContain('turns: No turn is open.');
    expect(await alone('nobody')).toContain('turns: There is no session nobody.');
  });
});

describe('a repair', () => {
  it('is made only where it is asked for, and not while a server has the home', async () => {
    const file = join(home, 'sessions.db');
    const store = await openSqliteStore({ path: file, clock: Date.now });
    const session = await TestSession.create(() => store);
    await session.prompt();
    await store.close();
    const sql = (statement: string) => {
      const database = new Database(file);
      const rows = database.prepare(statement);
      const found = rows.reader ? rows.all() : rows.run();
      database.close();
      return found;
    };
    sql(`update events set data = '{' where seq = 1`);
    expect((await findings()).of('sessions').status).toBe('problem');
    lock = acquireHomeLock(home);
    const refused = await doctor(['--repair']);
    expect(refused.code).toBe(1);
    expect(refused.out).toContain('problem  repair: Nothing was mended: a server has the home. Stop it');
    lock.release();
    expect(sql('select * from events')).toHaveLength(2);
    const { out } = await doctor(['--repair']);
    expect(out).toContain('cut at event 1');
    expect(out).toMatch(/ok +sessions: The logs of all 1 sessions are whole\./);
    expect(sql(`select * from events where type = 'session/repaired'`)).toHaveLength(1);
  });
});

describe('the check of the server', () => {
  it('says which one is ready', async () => {
    await serve(200, { status: 'ready', version: '1.2.3' });
    const { of } = await findings();
    expect(of('server').status).toBe('ok');
    expect(of('server').message).toMatch(/http:\/\/127\.0\.0\.1:\d+ .* is ready; its version is 1\.2\.3/);
  });

  it('warns of one that is not ready', async () => {
    await serve(503, { status: 'unavailable', version: '1.2.3' });
    expect((await findings()).of('server')).toMatchObject({ status: 'warning' });
  });

  it('finds one that does not answer', async () => {
    await serve(200, {});
    server?.close();
    const { code, of } = await findings();
    expect(of('server')).toMatchObject({ status: 'problem' });
    expect(code).toBe(1);
  });

  it('warns of a process that has the home and does not serve', async () => {
    lock = acquireHomeLock(home);
    expect((await findings()).of('server')).toMatchObject({ status: 'warning' });
  });
});

describe('the checks of programs', () => {
  it('know the oldest Node.js that package.json allows', () => {
    const manifest = JSON.parse(readFileSync('package.json', 'utf8')) as { engines: { node: string } };
    expect(manifest.engines.node).toBe(`>=${OLDEST_NODE.join('.')}`);
    const statuses = ['18.20.0', '20.18.3', '20.19.0', '22.0.0'].map(
      (version) => checkNodeVersion(version).status,
    );
    expect(statuses).toEqual(['problem', 'problem', 'ok', 'ok']);
  });

  it('find that bash is missing', async () => {
    const { code, of } = await findings({ PATH: folder });
    expect(of('bash')).toMatchObject({ status: 'problem' });
    expect(code).toBe(1);
  });

  it('never fetch the Temporal CLI', async () => {
    const { of } = await findings({ PATH: folder });
    expect(of('temporal')).toMatchObject({ status: 'warning' });
    expect(readdirSync(folder)).toEqual(['home']);
  });

  it('find a Temporal CLI that is named and is none', async () => {
    const { of } = await findings({ TURNKEEPER_TEMPORAL_CLI: '/nowhere/temporal' });
    expect(of('temporal')).toMatchObject({ status: 'problem' });
    expect((await findings({ TEMPORAL_ADDRESS: 'temporal.example:7233' })).of('temporal').status).toBe('ok');
  });

  it('say whether a sandbox works, or what is missing', async () => {
    const { PATH } = await environmentWithBubblewrap();
    expect((await findings({ PATH })).of('sandbox').message).toMatch(
      /^Commands (are confined by \/|cannot be confined)/,
    );
    expect((await findings({ PATH: folder })).of('sandbox')).toMatchObject({
      status: 'warning',
      message: expect.stringContaining('apt-get install bubblewrap') as string,
    });
  });
});
