import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { SessionEvent } from '../../src/contract/events.js';
import {
  askedApproval,
  commandModel,
  decideByHttp,
  install,
  processesWith,
  signalEngine,
  until,
  type DecisionAnswer,
  type Installation,
} from '../support/installation.js';
import { checkLog } from '../support/log-invariants.js';
import { dataOf } from '../support/turn-setup.js';

interface Asked {
  readonly session: string;
  readonly approval: string;
  /** The file that the command appends a line to. */
  readonly file: string;
}

const ASKING = { extends: 'default', permission: 'workspace-write', sandbox: 'off' };

async function installed(profiles: Record<string, object> = {}): Promise<Installation> {
  const installation = await install({ script: commandModel, profiles: { asking: ASKING, ...profiles } });
  await installation.serve();
  return installation;
}

/** A session that waits for the approval of a command, which appends a line to a file and then does `rest`. */
async function ask(
  installation: Installation,
  name: string,
  { profile = 'asking', rest = 'true' }: { profile?: string; rest?: string } = {},
): Promise<Asked> {
  const file = `${name}.txt`;
  const session = await installation.prompt(`$ echo ran >> ${file}; ${rest}`, profile);
  return { session, file, approval: await askedApproval(installation, session) };
}

/** The log of the session once its turn has ended; it is whole, and no provider has refused a request. */
async function finished(installation: Installation, { session }: Asked): Promise<SessionEvent[]> {
  await installation.server.client.turn(session, 1, { waitSeconds: 90 });
  const events = await installation.events(session);
  expect(events.at(-1)?.type).toBe('turn/end');
  expect(checkLog(events)).toEqual([]);
  expect(installation.model.refusals).toEqual([]);
  return events;
}

async function expectRunOnce(installation: Installation, asked: Asked): Promise<void> {
  const events = await finished(installation, asked);
  expect(codesOf(events)).toEqual(['ok']);
  expect(dataOf(events, 'tool/started')).toHaveLength(1);
  expect(dataOf(events, 'turn/end')).toMatchObject([{ reason: { kind: 'completed' }, output: 'Done.' }]);
  expect(installation.file(asked.file)).toBe('ran\n');
}

/** Decides again and again until somebody listens. */
async function decideOnceItAnswers(url: string, approval: string): Promise<DecisionAnswer> {
  for (;;) {
    try {
      return await decideByHttp(url, approval, 'allow');
    } catch {
      // Nobody listens yet.
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }
}

const codesOf = (events: readonly SessionEvent[]) =>
  dataOf(events, 'tool/result').map(({ error }) => error?.code ?? 'ok');
const outcomesOf = (events: readonly SessionEvent[]) =>
  dataOf(events, 'approval/decided').map(({ outcome }) => outcome);

describe('an approval that was asked before kill -9 of the server and the engine', () => {
  let installation: Installation;
  let asked: Record<'before' | 'during' | 'after' | 'denied' | 'cancelled' | 'expired', Asked>;
  let decidedBefore: DecisionAnswer;
  let decidedDuring: DecisionAnswer;

  beforeAll(async () => {
    installation = await installed({ hurried: { ...ASKING, approvalExpiresMs: 2000 } });
    const [before, during, after, denied, cancelled, expired] = await Promise.all([
      ask(installation, 'before'),
      ask(installation, 'during'),
      ask(installation, 'after'),
      ask(installation, 'denied'),
      ask(installation, 'cancelled'),
      ask(installation, 'expired', { profile: 'hurried' }),
    ]);
    asked = { before, during, after, denied, cancelled, expired };
    // The engine does not learn of it: what is known after the crash is known by the log.
    signalEngine(installation, 'SIGSTOP');
    decidedBefore = await decideByHttp(installation.url, asked.before.approval, 'allow');
    await installation.server.end('SIGKILL');
    signalEngine(installation, 'SIGKILL');
    const served = installation.serve();
    decidedDuring = await decideOnceItAnswers(installation.url, asked.during.approval);
    await served;
  });
  afterAll(() => installation.remove());

  it('and decided an instant before it runs once', async () => {
    expect(decidedBefore).toMatchObject({ status: 200, body: { decision: { outcome: 'allowed' } } });
    await expectRunOnce(installation, asked.before);
  });

  it('and decided as soon as the API answers again runs once', async () => {
    expect(decidedDuring).toMatchObject({ status: 200, body: { decision: { outcome: 'allowed' } } });
    await expectRunOnce(installation, asked.during);
  });

  it('and decided later, twice and then otherwise, runs once, and the first decision stands', async () => {
    const { url } = installation;
    const { approval } = asked.after;
    const first = await decideByHttp(url, approval, 'allow');
    expect(first.status).toBe(200);
    expect(await decideByHttp(url, approval, 'allow')).toEqual(first);
    expect(await decideByHttp(url, approval, 'deny')).toMatchObject({
      status: 409,
      body: { code: 'APPROVAL_DECIDED' },
    });
    await expectRunOnce(installation, asked.after);
    expect(await decideByHttp(url, approval, 'allow')).toEqual(first);
    expect(await decideByHttp(url, approval, 'deny')).toMatchObject({ status: 409 });
    expect(installation.file(asked.after.file)).toBe('ran\n');
  });

  it('and denied later does not run', async () => {
    const answer = await decideByHttp(installation.url, asked.denied.approval, 'deny');
    expect(answer).toMatchObject({ status: 200, body: { decision: { outcome: 'denied' } } });
    expect(codesOf(await finished(installation, asked.denied))).toEqual(['DENIED']);
    expect(installation.file(asked.denied.file)).toBe('');
  });

  it('and that expired does not run, and is closed to decisions', async () => {
    const events = await finished(installation, asked.expired);
    expect(outcomesOf(events)).toEqual(['expired']);
    expect(codesOf(events)).toEqual(['APPROVAL_EXPIRED']);
    expect(await decideByHttp(installation.url, asked.expired.approval, 'allow')).toMatchObject({
      status: 409,
      body: { code: 'APPROVAL_CLOSED' },
    });
    expect(installation.file(asked.expired.file)).toBe('');
  });

  it('and whose turn is cancelled does not run, and is closed to decisions at once', async () => {
    const { session, approval, file } = asked.cancelled;
    await installation.server.client.cancel(session);
    const closed = { status: 409, body: { code: 'APPROVAL_CLOSED' } };
    expect(await decideByHttp(installation.url, approval, 'allow')).toMatchObject(closed);
    const events = await finished(installation, asked.cancelled);
    expect(await decideByHttp(installation.url, approval, 'allow')).toMatchObject(closed);
    expect(outcomesOf(events)).toEqual(['withdrawn']);
    expect(codesOf(events)).toEqual(['ABORTED_BEFORE_DISPATCH']);
    expect(dataOf(events, 'turn/end')).toMatchObject([{ reason: { kind: 'aborted' } }]);
    expect(installation.file(file)).toBe('');
  });

  it('is found by its own id alone', async () => {
    const unknown = '00000000-0000-7000-8000-000000000000';
    expect(await decideByHttp(installation.url, unknown, 'allow')).toMatchObject({
      status: 404,
      body: { code: 'NOT_FOUND' },
    });
  });
});

describe('an approval, after kill -9 of the server alone', () => {
  const seconds = `62.${String(process.pid)}`;
  let installation: Installation;
  let asked: Record<'running' | 'before' | 'after', Asked>;

  beforeAll(async () => {
    installation = await installed();
    const [running, before, after] = await Promise.all([
      ask(installation, 'running', { rest: `sleep ${seconds}` }),
      ask(installation, 'before'),
      ask(installation, 'after'),
    ]);
    asked = { running, before, after };
    await decideByHttp(installation.url, asked.running.approval, 'allow');
    await until(() => processesWith(`sleep ${seconds}`).length > 0);
    signalEngine(installation, 'SIGSTOP');
    await decideByHttp(installation.url, asked.before.approval, 'allow');
    await installation.server.end('SIGKILL');
    // The engine is there before the server is, which takes it over.
    signalEngine(installation, 'SIGCONT');
    await installation.serve();
  });
  afterAll(() => installation.remove());

  it('that was decided before it runs once', async () => {
    await expectRunOnce(installation, asked.before);
  });

  it('that is decided after it runs once', async () => {
    await decideByHttp(installation.url, asked.after.approval, 'allow');
    await expectRunOnce(installation, asked.after);
  });

  it('whose command was running is not run again', async () => {
    const events = await finished(installation, asked.running);
    expect(codesOf(events)).toEqual(['TOOL_OUTCOME_UNKNOWN']);
    expect(dataOf(events, 'tool/started')).toHaveLength(1);
    expect(installation.file(asked.running.file)).toBe('ran\n');
    expect(processesWith(`sleep ${seconds}`)).toEqual([]);
  });

  it('that is decided while the engine is away too runs once when it is back', async () => {
    const away = await ask(installation, 'away');
    signalEngine(installation, 'SIGSTOP');
    expect((await decideByHttp(installation.url, away.approval, 'allow')).status).toBe(200);
    signalEngine(installation, 'SIGKILL');
    await expectRunOnce(installation, away);
  });
});
