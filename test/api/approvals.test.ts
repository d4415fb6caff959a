import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { approvalResourceSchema, type ApprovalResource } from '../../src/contract/http-asks.js';
import type { ApprovalId, SessionId, SessionUid } from '../../src/contract/ids.js';
import { v7 as uuidv7 } from 'uuid';
import { admitPrompt } from '../../src/store/admission.js';
import { SOME_SHA256 } from '../support/log-builder.js';
import { call, startApi, type Answer, type ApiServer } from './api-server.js';
import { AskedTurn } from './asked-turn.js';

let api: ApiServer;
let now: number;
let refused: string | undefined;
beforeEach(async () => {
  now = Date.UTC(2026, 0, 1);
  refused = undefined;
  api = await startApi({
    clock: () => now,
    checkArguments: (tool, args) =>
      refused ?? (tool === 'bash' && 'command' in (args as object) ? undefined : 'no command'),
    settings: { bodyLimitBytes: 1024 * 1024 },
  });
});
afterEach(() => api.stop());

const decide = (id: string, body: unknown): Promise<Answer> =>
  call(`${api.url}/v1/approvals/${id}`, 'POST', body);
const show = async (id: string): Promise<ApprovalResource> =>
  approvalResourceSchema.parse((await call(`${api.url}/v1/approvals/${id}`, 'GET')).body);
const decisionsIn = async (uid: SessionUid) =>
  api.store.readEvents(uid, { limit: 1000, types: ['approval/decided'] });
const nudged = (id: ApprovalId) =>
  api.nudges.filter(({ ask }) => ask?.kind === 'approval' && ask.approvalId === id).length;

describe('an approval', () => {
  it('is shown with all that a person decides by', async () => {
    const turn = await AskedTurn.start(api, 's');
    const expiresAt = '2026-02-01T00:00:00.000Z';
    const id = await turn.ask(0, { expiresAt });
    expect(await show(id)).toEqual({
      approvalId: id,
      sessionId: 's',
      turn: 1,
      step: 1,
      callId: turn.driver.callId(0),
      tool: 'bash',
      arguments: { command: 'run 0' },
      argumentsSha256: SOME_SHA256,
      reason: 'Shell commands need approval.',
      preview: { kind: 'command', text: 'run 0' },
      askedAt: '2026-01-01T00:00:00.000Z',
      expiresAt,
    });
  });

  it('has its whole arguments, also where they were too large for the log', async () => {
    const turn = await AskedTurn.start(api, 's');
    const content = 'ü'.repeat(100_000);
    const id = await turn.ask(0, { arguments: JSON.stringify({ content }) });
    expect((await show(id)).arguments).toEqual({ content });
  });

  it('counts in its session, its turn and the state of the stream', async () => {
    const turn = await AskedTurn.start(api, 's', 2);
    const ids = await turn.askAll(2);
    const session = () => call(`${api.url}/v1/sessions/s`, 'GET');
    const open = () => call(`${api.url}/v1/sessions/s/turns/1`, 'GET');
    expect((await session()).body).toMatchObject({ status: 'waiting-approval', approvals: 2 });
    expect((await open()).body).toMatchObject({ status: 'waiting-approval', approvals: ids });
    await decide(ids[0]!, { outcome: 'allow' });
    expect((await open()).body).toMatchObject({ status: 'waiting-approval', approvals: [ids[1]] });
    await decide(ids[1]!, { outcome: 'deny' });
    expect((await session()).body).toMatchObject({ status: 'running', approvals: 0 });
    expect((await open()).body).toMatchObject({ status: 'running', approvals: [] });
  });

  it('that is not there, or is a question, is not found', async () => {
    const turn = await AskedTurn.start(api, 's');
    const question = await turn.askQuestion(0, [{ id: 'q', question: 'Which?' }]);
    for (const id of [uuidv7(), 'x', '%20', question]) {
      expect((await call(`${api.url}/v1/approvals/${id}`, 'GET')).body).toMatchObject({ code: 'NOT_FOUND' });
      expect((await decide(id, { outcome: 'allow' })).body).toMatchObject({ status: 404, code: 'NOT_FOUND' });
    }
  });

  it('of another tenant is not found, neither shown, nor listed, nor decided', async () => {
    const uid = uuidv7() as SessionUid;
    await api.store.createSession({
      tenant: 'other',
      id: 'theirs' as SessionId,
      uid,
      settings: { workspace: '/w', profile: 'default' },
      bodySha256: SOME_SHA256,
    });
    await admitPrompt(api.store, uid, {
      requestId: 'r' as never,
      itemId: 'i' as never,
      mode: 'queue',
      content: [{ type: 'text', text: 'go' }],
      bodySha256: SOME_SHA256,
    });
    const id = await (await AskedTurn.enter(api.store, uid)).ask(0);
    expect((await call(`${api.url}/v1/approvals/${id}`, 'GET')).status).toBe(404);
    expect((await decide(id, { outcome: 'allow' })).status).toBe(404);
    const many = await call(`${api.url}/v1/approvals`, 'POST', {
      decisions: [{ approvalId: id, outcome: 'allow' }],
    });
    expect(many.body).toEqual({ items: [{ approvalId: id, status: 404, code: 'NOT_FOUND' }] });
    expect((await call(`${api.url}/v1/approvals?status=all`, 'GET')).body).toMatchObject({ items: [] });
    expect(await decisionsIn(uid)).toEqual([]);
  });
});

describe('deciding an approval', () => {
  it('stores who, how and why, answers with it, and tells the engine', async () => {
    const turn = await AskedTurn.start(api, 's');
    const id = await turn.ask(0);
    now += 60_000;
    const answer = await decide(id, { outcome: 'deny', note: 'use make clean' });
    expect(answer.status).toBe(200);
    const decision = {
      outcome: 'denied',
      by: 'local',
      note: 'use make clean',
      at: '2026-01-01T00:01:00.000Z',
    };
    expect(approvalResourceSchema.parse(answer.body).decision).toEqual(decision);
    expect((await show(id)).decision).toEqual(decision);
    expect(await decisionsIn(turn.uid)).toMatchObject([{ turn: 1, step: 1, data: { approvalId: id } }]);
    expect(api.nudges).toContainEqual({
      kind: 'decision',
      uid: turn.uid,
      turn: 1,
      ask: { kind: 'approval', approvalId: id },
    });
  });

  it('allows once, unless the whole session is meant', async () => {
    const turn = await AskedTurn.start(api, 's', 3);
    const [once, session, pattern] = (await turn.askAll(3)) as [ApprovalId, ApprovalId, ApprovalId];
    await decide(once, { outcome: 'allow' });
    await decide(session, { outcome: 'allow', scope: 'session' });
    await decide(pattern, { outcome: 'allow', scope: 'session', match: { command: 'npm *' } });
    expect((await show(once)).decision).toMatchObject({ outcome: 'allowed', scope: 'once' });
    expect((await show(session)).decision).toMatchObject({ outcome: 'allowed', scope: 'session' });
    expect((await show(pattern)).decision).toMatchObject({ match: { command: 'npm *' } });
    expect((await api.store.readState(turn.uid)).grants).toHaveLength(2);
  });

  it('takes edited arguments that fit the tool', async () => {
    const id = await (await AskedTurn.start(api, 's')).ask(0);
    const edited = { command: 'ls -l', nested: [1, { a: null }] };
    expect((await decide(id, { outcome: 'allow', arguments: edited })).status).toBe(200);
    const { arguments: asked, decision } = await show(id);
    expect(asked).toEqual({ command: 'run 0' });
    expect(decision?.arguments).toEqual(edited);
  });

  it.each<[string, unknown, string]>([
    ['arguments that the tool refuses', { outcome: 'allow', arguments: { order: 'ls' } }, 'arguments'],
    ['arguments that are no object', { outcome: 'allow', arguments: ['ls'] }, 'arguments'],
    [
      'arguments that are too large',
      { outcome: 'allow', arguments: { command: 'x'.repeat(64 * 1024) } },
      'arguments',
    ],
    ['arguments of a denial', { outcome: 'deny', arguments: { command: 'ls' } }, 'arguments'],
    ['a scope of a denial', { outcome: 'deny', scope: 'once' }, 'scope'],
    ['a pattern of a denial', { outcome: 'deny', match: { command: '*' } }, 'match'],
    ['a pattern without the session', { outcome: 'allow', match: { command: '*' } }, 'match'],
    ['a pattern for once', { outcome: 'allow', scope: 'once', match: { command: '*' } }, 'match'],
    ['another outcome', { outcome: 'maybe' }, 'outcome'],
    ['an unknown field', { outcome: 'allow', force: true }, 'force'],
  ])('refuses %s and leaves the approval open', async (_, body, field) => {
    const turn = await AskedTurn.start(api, 's');
    const id = await turn.ask(0);
    const answer = await decide(id, body);
    expect(answer.body).toMatchObject({ status: 400, code: 'INVALID_REQUEST', field });
    expect((await show(id)).decision).toBeUndefined();
    expect(nudged(id)).toBe(0);
  });

  it('answers the same again with what stands, and tells the engine no more', async () => {
    const turn = await AskedTurn.start(api, 's');
    const id = await turn.ask(0);
    const first = await decide(id, { outcome: 'allow', note: 'first' });
    now += 1000;
    refused = 'the tool is not there any more';
    const again = await decide(id, { outcome: 'allow', note: 'second', arguments: { command: 'ls' } });
    expect([again.status, again.body]).toEqual([200, first.body]);
    expect(await decisionsIn(turn.uid)).toHaveLength(1);
    expect(nudged(id)).toBe(1);
  });

  it('refuses the opposite, and says what stands', async () => {
    const id = await (await AskedTurn.start(api, 's')).ask(0);
    await decide(id, { outcome: 'deny' });
    const answer = await decide(id, { outcome: 'allow' });
    expect(answer.body).toMatchObject({ status: 409, code: 'APPROVAL_DECIDED' });
    expect((answer.body as { detail: string }).detail).toContain(
      'denied by local at 2026-01-01T00:00:00.000Z',
    );
    expect((await show(id)).decision?.outcome).toBe('denied');
  });

  it('takes one of fifty contradicting decisions that come at once', async () => {
    const turn = await AskedTurn.start(api, 's');
    const id = await turn.ask(0);
    const outcomes = Array.from({ length: 50 }, (_, n) => (n % 2 === 0 ? 'allow' : 'deny'));
    const answers = await Promise.all(outcomes.map((outcome) => decide(id, { outcome })));
    const [stored] = await decisionsIn(turn.uid);
    expect(await decisionsIn(turn.uid)).toHaveLength(1);
    const winner =
      stored?.type === 'approval/decided' && stored.data.outcome === 'allowed' ? 'allow' : 'deny';
    expect(answers.map(({ status }) => status)).toEqual(
      outcomes.map((outcome) => (outcome === winner ? 200 : 409)),
    );
    for (const { status, body } of answers) {
      if (status === 409) expect(body).toMatchObject({ code: 'APPROVAL_DECIDED' });
      else expect(body).toMatchObject({ decision: { outcome: winner === 'allow' ? 'allowed' : 'denied' } });
    }
  });

  it('stands when the engine cannot be told', async () => {
    const id = await (await AskedTurn.start(api, 's')).ask(0);
    api.condition.engineFails = true;
    expect((await decide(id, { outcome: 'allow' })).status).toBe(200);
    expect((await show(id)).decision?.outcome).toBe('allowed');
  });
});

describe('an approval that is closed', () => {
  const closed = async (id: ApprovalId, word: string) => {
    for (const outcome of ['allow', 'deny']) {
      const answer = await decide(id, { outcome });
      expect(answer.body).toMatchObject({ status: 409, code: 'APPROVAL_CLOSED' });
      expect((answer.body as { detail: string }).detail).toContain(word);
    }
    expect(nudged(id)).toBe(0);
  };

  it('by its time is closed as expired by whoever comes late', async () => {
    const turn = await AskedTurn.start(api, 's', 2);
    const late = await turn.ask(0, { expiresAt: '2026-01-01T00:01:00.000Z' });
    const other = await turn.ask(1, { expiresAt: '2026-01-01T00:02:00.000Z' });
    now += 60_000;
    await closed(late, 'expired');
    expect((await show(late)).decision).toEqual({
      outcome: 'expired',
      by: 'turnkeeper',
      at: '2026-01-01T00:01:00.000Z',
    });
    expect((await decide(other, { outcome: 'allow' })).status).toBe(200);
  });

  it('can be decided up to its last millisecond', async () => {
    const id = await (await AskedTurn.start(api, 's')).ask(0, { expiresAt: '2026-01-01T00:01:00.000Z' });
    now += 59_999;
    expect((await decide(id, { outcome: 'allow' })).status).toBe(200);
  });

  it('by the end of its turn says so, also when later turns have asked', async () => {
    const turn = await AskedTurn.start(api, 's');
    const id = await turn.ask(0);
    await turn.end();
    await closed(id, 'withdrawn');
    await call(`${api.url}/v1/sessions/s/prompts`, 'POST', { text: 'again' });
    const next = await (await AskedTurn.enter(api.store, turn.uid)).ask(0);
    await closed(id, 'withdrawn');
    expect((await show(id)).decision).toMatchObject({ outcome: 'withdrawn', by: 'turnkeeper' });
    expect((await show(next)).decision).toBeUndefined();
  });

  it('because nobody can answer its prompt says so', async () => {
    const turn = await AskedTurn.start(api, 's');
    const id = await turn.ask(0);
    await turn.close(id, 'unavailable');
    await closed(id, 'nobody can answer');
  });

  it('by a cancel of its turn stays undecided, but what was decided before still stands', async () => {
    const turn = await AskedTurn.start(api, 's', 2);
    const [decided, open] = (await turn.askAll(2)) as [ApprovalId, ApprovalId];
    await decide(decided, { outcome: 'allow' });
    await call(`${api.url}/v1/sessions/s/cancel`, 'POST', {});
    await closed(open, 'cancelled');
    expect((await show(open)).decision).toBeUndefined();
    expect((await decide(decided, { outcome: 'allow' })).status).toBe(200);
    expect((await decide(decided, { outcome: 'deny' })).body).toMatchObject({ code: 'APPROVAL_DECIDED' });
  });

  it('was decided in a turn that has ended: the same again is answered, the opposite refused', async () => {
    const turn = await AskedTurn.start(api, 's');
    const id = await turn.ask(0);
    await decide(id, { outcome: 'allow' });
    await turn.end();
    expect((await decide(id, { outcome: 'allow' })).status).toBe(200);
    expect((await decide(id, { outcome: 'deny' })).body).toMatchObject({ code: 'APPROVAL_DECIDED' });
  });

  it('goes with its session', async () => {
    const id = await (await AskedTurn.start(api, 's')).ask(0);
    await call(`${api.url}/v1/sessions/s`, 'DELETE');
    expect((await decide(id, { outcome: 'allow' })).status).toBe(404);
    expect((await call(`${api.url}/v1/approvals/${id}`, 'GET')).status).toBe(404);
  });
});
