import { execFileSync } from 'node:child_process';
import { closeSync, openSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { FollowItem } from '../../src/client/follow.js';
import type { SessionEvent } from '../../src/contract/events.js';
import {
  askedApproval,
  commandModel,
  decideByHttp,
  install,
  processesWith,
  until,
  type Installation,
} from '../support/installation.js';
import { checkLog } from '../support/log-invariants.js';
import type { RecordedRequest, Reply } from '../support/scripted-model-server.js';
import { dataOf } from '../support/turn-setup.js';

/** In the command lines of this run's processes. */
const MARK = String(process.pid);
/** How many calls run at once on a host. */
const SLOTS = 100;
/** `PendingActivityState` of an activity that a worker has taken. */
const STARTED = 2;
const KEY = /^[0-9a-f-]{36}\/1\.1\.0$/;

/** The log of the session once its turn has ended; it is whole, and no provider has refused a request. */
async function finished(installation: Installation, session: string): Promise<SessionEvent[]> {
  await installation.server.client.turn(session, 1, { waitSeconds: 90 });
  const events = await installation.events(session);
  expect(events.at(-1)?.type).toBe('turn/end');
  expect(checkLog(events)).toEqual([]);
  expect(installation.model.refusals).toEqual([]);
  return events;
}

const codesOf = (events: readonly SessionEvent[]) =>
  dataOf(events, 'tool/result').map(({ error }) => error?.code ?? 'ok');
const resultOf = (events: readonly SessionEvent[]) =>
  dataOf(events, 'tool/result')
    .flatMap(({ content }) => content)
    .map((block) => (block.type === 'text' ? block.text : ''))
    .join('\n');

describe('a call whose server is killed while it runs', () => {
  const needle = `needle-${MARK}`;
  let installation: Installation;
  let effect: string;
  let search: string;

  const script = (request: RecordedRequest): Reply =>
    request.raw.includes('Search.') && !request.raw.includes('"role":"tool"')
      ? { calls: [{ name: 'grep', arguments: { pattern: needle, path: 'large' } }] }
      : commandModel(request);

  beforeAll(async () => {
    installation = await install({ script });
    const large = join(installation.workspace, 'large');
    writeFileSync(large, '');
    // A hole, which takes minutes to search.
    truncateSync(large, 400e9);
    const { pid } = await installation.serve();
    search = await installation.prompt('Search.');
    await until(() => processesWith(needle).length > 0);
    // It kills the server after its effect and before its end can be reported.
    effect = await installation.prompt('$ echo "$TURNKEEPER_IDEMPOTENCY_KEY" >> effects.txt; kill -9 $PPID');
    await until(() => !isRunning(pid));
    writeFileSync(large, `the ${needle} was put here after the crash\n`);
    await installation.serve();
  });
  afterAll(() => installation.remove());

  it('is not run again where it has effects, and the model is told that the outcome is unknown', async () => {
    const events = await finished(installation, effect);
    expect(codesOf(events)).toEqual(['TOOL_OUTCOME_UNKNOWN']);
    expect(dataOf(events, 'tool/started')).toHaveLength(1);
    const lines = installation.file('effects.txt').split('\n');
    expect(lines).toEqual([expect.stringMatching(KEY), '']);
    const told = installation.model.requests.filter(({ raw }) => raw.includes('effects.txt')).at(-1);
    expect(told?.raw).toContain('it is not known whether it took effect');
  });

  it('is run again where it only reads, and ends well', async () => {
    const events = await finished(installation, search);
    expect(codesOf(events)).toEqual(['ok']);
    expect(resultOf(events)).toContain('was put here after the crash');
    expect(dataOf(events, 'turn/end')).toMatchObject([{ reason: { kind: 'completed' }, output: 'Done.' }]);
  });
});

describe('a command', () => {
  const SECRETS = { DEEPSEEK_API_KEY: `key-${MARK}`, FOO_SECRET: `secret-${MARK}` };
  let installation: Installation;

  beforeAll(async () => {
    installation = await install({
      script: (request) =>
        request.raw.includes('Wait for a job.') ? jobWaiter(request, SLOTS + 10) : commandModel(request),
      profiles: {
        default: { maxParallelToolCalls: 2 * SLOTS },
        asking: { extends: 'default', permission: 'workspace-write', sandbox: 'off' },
      },
      env: SECRETS,
    });
    await installation.serve();
  });
  afterAll(() => installation.remove());

  it('has its idempotency key in its environment, and no secret of the server', async () => {
    await finished(installation, await installation.prompt('$ env > env.txt'));
    const environment = installation.file('env.txt');
    expect(/^TURNKEEPER_IDEMPOTENCY_KEY=(.*)$/m.exec(environment)?.[1]).toMatch(KEY);
    expect(environment).toContain('PATH=');
    for (const [name, value] of Object.entries(SECRETS)) {
      expect(environment).not.toContain(name);
      expect(environment).not.toContain(value);
    }
  });

  it('shows what it writes to a follower while it runs, with the index of its call', async () => {
    const { client } = installation.server;
    const session = await installation.prompt(
      '$ true\n$ echo first; until [ -e go ]; do sleep 0.05; done; echo second',
    );
    const items: FollowItem[] = [];
    const shows = (item: FollowItem, text: string) =>
      item.type === 'frame' &&
      item.frame.call === 1 &&
      item.frame.chunks.some((chunk) => chunk.type === 'tool-output' && chunk.text.includes(text));
    for await (const item of client.follow(session, { until: 'turn-end' })) {
      items.push(item);
      // The command ends only after its first line was seen.
      if (shows(item, 'first')) writeFileSync(join(installation.workspace, 'go'), '');
    }
    const shown = items.findIndex((item) => shows(item, 'first'));
    const results = items.flatMap((item, place) =>
      item.type === 'event' && item.event.type === 'tool/result' ? [place] : [],
    );
    expect(shown).toBeGreaterThanOrEqual(0);
    expect(results).toHaveLength(2);
    expect(shown).toBeLessThan(results[1]!);
    expect(resultOf(await finished(installation, session))).toContain('first\nsecond');
  });

  it('that ignores SIGTERM, with descendants in sessions of their own, is gone 2 s after its cancel', async () => {
    const sleep = `sleep 71.${MARK}`;
    const session = await installation.prompt(
      `$ trap '' TERM; setsid bash -c "${sleep} & ${sleep}" & (setsid ${sleep} &); ${sleep}`,
    );
    await until(() => processesWith(sleep).filter((line) => line === sleep).length === 4);
    await installation.server.client.cancel(session);
    await expect.poll(() => processesWith(sleep), { timeout: 2000, interval: 20 }).toEqual([]);
    const events = await finished(installation, session);
    expect(codesOf(events)).toEqual(['ABORTED']);
    expect(dataOf(events, 'turn/end')).toMatchObject([{ reason: { kind: 'aborted' } }]);
  });

  it('that leaves a process which holds its output is over at once, and the process is ended', async () => {
    const sleep = `sleep 72.${MARK}`;
    const session = await installation.prompt(`$ setsid ${sleep} & echo over`);
    const events = await finished(installation, session);
    expect(codesOf(events)).toEqual(['ok']);
    expect(resultOf(events)).toContain('over\n[1 process left running and ended]');
    expect(processesWith(sleep)).toEqual([]);
  });

  it('that takes long holds up no other session, though there are twelve of them', async () => {
    const { client } = installation.server;
    const gate = `gate-${MARK}`;
    execFileSync('mkfifo', [join(installation.workspace, gate)]);
    const waiting = () => processesWith(gate).filter((line) => line === `cat ${gate}`).length;
    const slow = await Promise.all(Array.from({ length: 12 }, () => installation.prompt(`$ cat ${gate}`)));
    await until(() => waiting() === slow.length);

    const asked = await installation.prompt('$ echo ran >> approved.txt', 'asking');
    await decideByHttp(installation.url, await askedApproval(installation, asked), 'allow');
    const cancelled = await installation.prompt(`$ sleep 73.${MARK}`);
    await until(() => processesWith(`sleep 73.${MARK}`).length > 0);
    await client.cancel(cancelled);
    const answered = await installation.prompt('Say something.');
    const ends = await Promise.all(
      [asked, cancelled, answered].map(async (session) =>
        dataOf(await finished(installation, session), 'turn/end'),
      ),
    );
    expect(ends.map(([end]) => end?.reason.kind)).toEqual(['completed', 'aborted', 'completed']);
    expect(installation.file('approved.txt')).toBe('ran\n');

    expect(waiting()).toBe(slow.length);
    closeSync(openSync(join(installation.workspace, gate), 'w'));
    for (const session of slow) expect(codesOf(await finished(installation, session))).toEqual(['ok']);
  });

  it('waits where more calls run than there are slots, but no model call, decision or cancel does', async () => {
    const { client } = installation.server;
    const waiting = await installation.prompt('Wait for a job.');
    const { engine } = await client.readiness();
    await until(async () => (await runningActivities(engine.address)) === SLOTS);

    const asked = await installation.prompt('$ echo ran >> queued.txt', 'asking');
    const approval = await askedApproval(installation, asked);
    expect((await decideByHttp(installation.url, approval, 'allow')).status).toBe(200);
    const answered = await finished(installation, await installation.prompt('Say something.'));
    expect(dataOf(answered, 'turn/end')).toMatchObject([{ output: 'There is no command.' }]);
    expect(await runningActivities(engine.address)).toBe(SLOTS);
    expect(installation.file('queued.txt')).toBe('');

    await client.cancel(waiting);
    const [job, ...waits] = codesOf(await finished(installation, waiting));
    expect(job).toBe('ok');
    expect(waits.filter((code) => code.startsWith('ABORTED'))).toHaveLength(SLOTS + 10);
    expect(codesOf(await finished(installation, asked))).toEqual(['ok']);
    expect(installation.file('queued.txt')).toBe('ran\n');
  });
});

/** A model that starts a job, and then waits for it with many calls at once. */
function jobWaiter({ raw }: RecordedRequest, calls: number): Reply {
  const job = /Started in the background as (\S+)\. job_output/.exec(raw)?.[1];
  if (job === undefined) {
    const command = `sleep 74.${MARK}`;
    return { calls: [{ name: 'bash', arguments: { command, run_in_background: true } }] };
  }
  const wait = { name: 'job_output', arguments: { job_id: job, wait_ms: 60_000 } };
  return { calls: Array.from({ length: calls }, () => wait) };
}

/** How many activities run on the engine's workers. */
async function runningActivities(address: string): Promise<number> {
  const connection = await Connection.connect({ address });
  try {
    const { workflow } = new Client({ connection });
    let running = 0;
    for await (const { workflowId } of workflow.list({ query: 'ExecutionStatus = "Running"' })) {
      const { raw } = await workflow.getHandle(workflowId).describe();
      running += (raw.pendingActivities ?? []).filter(({ state }) => Number(state) === STARTED).length;
    }
    return running;
  } finally {
    await connection.close();
  }
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    // Gone.
    return false;
  }
}
