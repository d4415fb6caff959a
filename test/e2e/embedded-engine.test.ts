import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import {
  closeSync,
  existsSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { Client, Connection } from '@temporalio/client';
import Database from 'better-sqlite3';
import { pino } from 'pino';
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import {
  startEmbeddedEngine,
  type EmbeddedEngine,
  type EmbeddedEngineOptions,
} from '../../src/runtime/engine/embedded-engine.js';
import { findTemporalCli } from '../../src/runtime/engine/find-temporal-cli.js';
import { LOOPBACK } from '../../src/runtime/engine/free-port.js';
import { isAlive } from '../support/processes.js';

const OWNER = fileURLToPath(new URL('../unit/runtime/engine/own-embedded-engine.ts', import.meta.url));
const FETCH_TIMEOUT_MS = 300_000;
const TEST_TIMEOUT_MS = 60_000;

let cli: string;
let home: string;
let engines: EmbeddedEngine[];
let connections: Connection[];
let owners: ChildProcess[];

beforeAll(async () => {
  cli = (await findTemporalCli()).path;
}, FETCH_TIMEOUT_MS);
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'turnkeeper-engine-'));
  engines = [];
  connections = [];
  owners = [];
});
afterEach(async () => {
  await Promise.all(connections.map((connection) => connection.close()));
  await Promise.all(owners.map((owner) => end(owner, 'SIGKILL')));
  await Promise.all(engines.map((engine) => engine.stop()));
  rmSync(home, { recursive: true, force: true });
});

async function start(options: Partial<EmbeddedEngineOptions> = {}): Promise<EmbeddedEngine> {
  const logger = pino({ enabled: false });
  const engine = await startEmbeddedEngine({ cli, home, namespace: 'default', logger, ...options });
  engines.push(engine);
  return engine;
}

async function connect(engine: { readonly address: string }): Promise<Client> {
  const connection = await Connection.connect({ address: engine.address });
  connections.push(connection);
  return new Client({ connection });
}

/** Starts a workflow that nobody runs: it stands in the database. */
async function startWorkflow(client: Client): Promise<void> {
  await client.workflow.start('kept', { workflowId: 'kept', taskQueue: 'nobody' });
}

async function statusOfWorkflow(client: Client): Promise<string> {
  return (await client.workflow.getHandle('kept').describe()).status.name;
}

/** A process of its own, in a process group of its own, that starts the engine of the home. */
async function owner(): Promise<{ child: ChildProcess; pid: number; address: string }> {
  const child = spawn(process.execPath, ['--import', 'tsx', OWNER, cli, home], {
    stdio: ['ignore', 'pipe', 'inherit'],
    detached: true,
  });
  owners.push(child);
  const [line] = (await once(createInterface(child.stdout), 'line')) as [string];
  return { child, ...(JSON.parse(line) as { pid: number; address: string }) };
}

/** Sends the signal to the process group, as a terminal does, and waits for the process. */
async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  process.kill(-child.pid!, signal);
  await exited;
}

/** Damage that an engine does not come upon when it starts. */
function damageTableOfNobody(file: string): void {
  const database = new Database(file);
  database.exec("create table nobodys (text); insert into nobodys values ('text')");
  const page = database.prepare("select rootpage from sqlite_master where name = 'nobodys'").pluck().get();
  const size = database.pragma('page_size', { simple: true });
  database.pragma('wal_checkpoint(truncate)');
  database.close();
  const descriptor = openSync(file, 'r+');
  writeSync(descriptor, Buffer.alloc(Number(size), 7), 0, Number(size), (Number(page) - 1) * Number(size));
  closeSync(descriptor);
}

describe('the embedded engine', { timeout: TEST_TIMEOUT_MS }, () => {
  it('comes back on the same port, with its data, each time its process is killed', async () => {
    const onDown = vi.fn();
    const onUp = vi.fn();
    const engine = await start({ onDown, onUp });
    const client = await connect(engine);
    await startWorkflow(client);

    for (const round of [1, 2]) {
      const { pid, address } = engine;
      process.kill(pid, 'SIGKILL');
      await vi.waitFor(
        () => {
          expect(onUp).toHaveBeenCalledTimes(round);
        },
        { timeout: 30_000, interval: 10 },
      );
      expect(onDown).toHaveBeenCalledTimes(round);
      expect(engine).toMatchObject({ address, state: 'up' });
      expect(engine.pid).not.toBe(pid);
      // The connection from before reconnects by itself.
      await vi.waitFor(
        async () => {
          expect(await statusOfWorkflow(client)).toBe('RUNNING');
        },
        { timeout: 30_000 },
      );
    }
  });

  it('serves its page, keeps port and data over a restart, and leaves no process behind', async () => {
    const first = await start({ namespace: 'agents' });
    expect((await fetch(first.uiUrl)).status).toBe(200);
    await startWorkflow(await connect(first));
    const { pid, address, uiUrl } = first;
    await first.stop();
    expect(isAlive(pid)).toBe(false);
    expect(first.state).toBe('down');

    const second = await start({ namespace: 'agents' });
    expect(second).toMatchObject({ address, uiUrl, adopted: false, namespace: 'agents' });
    expect(await statusOfWorkflow(await connect(second))).toBe('RUNNING');
  });

  it.each(['SIGKILL', 'SIGINT'] as const)(
    'outlives its owner that gets %s with its whole process group, and is adopted by the next',
    async (signal) => {
      const { child, pid, address } = await owner();
      await startWorkflow(await connect({ address }));
      await end(child, signal);
      expect(isAlive(pid)).toBe(true);

      const onUp = vi.fn();
      const engine = await start({ onUp });
      expect(engine).toMatchObject({ adopted: true, pid, address });
      const client = await connect(engine);
      expect(await statusOfWorkflow(client)).toBe('RUNNING');

      process.kill(pid, 'SIGKILL');
      await vi.waitFor(
        () => {
          expect(onUp).toHaveBeenCalledOnce();
        },
        { timeout: 30_000, interval: 10 },
      );
      expect(engine.address).toBe(address);
      const last = engine.pid;
      await engine.stop();
      expect(isAlive(last)).toBe(false);
    },
  );

  it('that outlived its owner and has other settings is ended and replaced', async () => {
    const { child, pid } = await owner();
    await end(child, 'SIGKILL');
    const engine = await start({ namespace: 'another' });
    expect(engine.adopted).toBe(false);
    expect(isAlive(pid)).toBe(false);
  });

  it('that stands on no record is found by its working folder and ended', async () => {
    const { child, pid } = await owner();
    await end(child, 'SIGKILL');
    rmSync(join(home, 'engine.json'));
    const engine = await start();
    expect(engine.adopted).toBe(false);
    expect(isAlive(pid)).toBe(false);
  });

  it('spares a process that has the pid of the recorded engine by chance', async () => {
    await (await start()).stop();
    const file = join(home, 'engine.json');
    const state = JSON.parse(readFileSync(file, 'utf8')) as object;
    const bystander = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { detached: true });
    owners.push(bystander);
    writeFileSync(file, JSON.stringify({ ...state, pid: bystander.pid, startTime: 'of the engine' }));
    expect((await start()).adopted).toBe(false);
    expect(isAlive(bystander.pid!)).toBe(true);
  });

  it('names the configured port and its key where another program has the port', async () => {
    const server = createServer().listen(0, LOOPBACK);
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const refused = start({ port });
    await expect(refused).rejects.toMatchObject({ code: 'ENGINE_PORT_IN_USE', port });
    await expect(refused).rejects.toThrow(new RegExp(`port ${String(port)} .*engine\\.port`));
    server.close();
  });

  it('takes another port where the kept one was taken meanwhile', async () => {
    const first = await start();
    const { address } = first;
    await first.stop();
    const server = createServer().listen(Number(address.split(':')[1]), LOOPBACK);
    await once(server, 'listening');
    expect((await start()).address).not.toBe(address);
    server.close();
  });

  it.each([
    ['damaged', Buffer.alloc(8192, 7)],
    ['empty, as a power cut may leave it', Buffer.alloc(0)],
  ])('puts a database aside that is %s, and starts with a new one', async (_what, bytes) => {
    const file = join(home, 'temporal.db');
    writeFileSync(file, bytes);
    const client = await connect(await start());
    await startWorkflow(client);
    expect(await statusOfWorkflow(client)).toBe('RUNNING');
    const aside = readdirSync(home).filter((name) => name.startsWith('temporal.db.damaged-'));
    expect(aside.map((name) => readFileSync(join(home, name)))).toContainEqual(bytes);
  });

  it('keeps a database that is whole and not its own, and shows the last lines of its log', async () => {
    const file = join(home, 'temporal.db');
    new Database(file).exec('create table namespaces (id); insert into namespaces values (1)').close();
    const refused = start();
    await expect(refused).rejects.toMatchObject({ code: 'ENGINE_START_FAILED' });
    await expect(refused).rejects.toThrow(/engine\.log:\n[^]*has no column/);
    expect(existsSync(file)).toBe(true);
  });

  it('looks for damage where the last engine was not stopped, for it may start all the same', async () => {
    const first = await start();
    await startWorkflow(await connect(first));
    await first.stop();
    const [file, state] = [join(home, 'temporal.db'), join(home, 'engine.json')];
    damageTableOfNobody(file);
    const recorded = JSON.parse(readFileSync(state, 'utf8')) as object;
    writeFileSync(state, JSON.stringify({ ...recorded, pid: 1, startTime: 'of another boot' }));
    await start();
    expect(readdirSync(home).filter((name) => name.startsWith('temporal.db.damaged-'))).not.toEqual([]);
  });

  it('says that the program cannot be executed', async () => {
    await expect(start({ cli: join(home, 'missing') })).rejects.toMatchObject({
      code: 'ENGINE_START_FAILED',
    });
  });

  it('ends its process where the start is given up', async () => {
    const giveUp = new AbortController();
    const starting = start({ signal: giveUp.signal });
    const read = () => JSON.parse(readFileSync(join(home, 'engine.json'), 'utf8')) as { pid: number };
    const { pid } = await vi.waitFor(read, { interval: 1 });
    giveUp.abort();
    await expect(starting).rejects.toMatchObject({ code: 'ENGINE_START_STOPPED' });
    expect(isAlive(pid)).toBe(false);
  });

  it('can be stopped while it is down', async () => {
    let stopped: Promise<void> | undefined;
    const engine = await start({
      onDown: () => {
        stopped = engine.stop();
      },
    });
    process.kill(engine.pid, 'SIGKILL');
    await vi.waitFor(
      () => {
        expect(stopped).toBeDefined();
      },
      { interval: 5 },
    );
    await stopped;
    expect(isAlive(engine.pid)).toBe(false);
    expect(engine.state).toBe('down');
  });
});
