/** `approvals` and `questions` against the real API. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { runCli } from '../../../src/cli/program.js';
import type { ApprovalId } from '../../../src/contract/ids.js';
import { AskedTurn } from '../../api/asked-turn.js';
import { call, startApi, type ApiServer } from '../../api/api-server.js';
import { fakeIo } from './fake-io.js';

let api: ApiServer;
let turn: AskedTurn;
beforeEach(async () => {
  api = await startApi();
  turn = await AskedTurn.start(api, 's', 5);
});
afterEach(() => api.stop());

type IoOptions = Parameters<typeof fakeIo>[0];
const cli = async (args: string[], options: IoOptions = {}) => {
  const io = fakeIo({ ...options, env: { TURNKEEPER_SERVER: api.url } });
  return { code: await runCli(args, io), ...io.written };
};
const decisionOf = async (id: ApprovalId) =>
  ((await call(`${api.url}/v1/approvals/${id}`, 'GET')).body as { decision?: unknown }).decision;

describe('turnkeeper approvals', () => {
  it('lists what waits, newest first, for people and for programs', async () => {
    const [first, second] = await turn.askAll(2);
    const table = await cli(['approvals']);
    expect(table).toMatchObject({ code: 0, err: '' });
    expect(table.out.split('\n').map((line) => line.split(/ {2,}/))).toEqual([
      ['APPROVAL', 'SESSION', 'STATUS', 'ASKED', 'TOOL', 'WHAT'],
      [second, 's', 'open', expect.any(String), 'bash', 'run 1'],
      [first, 's', 'open', expect.any(String), 'bash', 'run 0'],
      [''],
    ]);
    const lines = (await cli(['approvals', 'list', '--json', '--limit', '1'])).out;
    expect(JSON.parse(lines)).toMatchObject({ approvalId: second, arguments: { command: 'run 1' } });
  });

  it('lists what is closed only where that is asked for, and says where there is nothing or more', async () => {
    const other = await AskedTurn.start(api, 'other');
    const id = await turn.ask(0);
    await other.ask(0);
    await cli(['approvals', 'allow', id, '--for-session']);
    const none = await cli(['approvals', '--session', 's']);
    expect(none).toMatchObject({ code: 0, out: '', err: 'Nothing waits for an approval.\n' });
    expect((await cli(['approvals', '--session', 's', '--all'])).out).toContain('allowed for the session');
    expect((await cli(['approvals', '--all', '--limit', '1'])).err).toContain('--limit');
    expect(await cli(['approvals', '--session', 'nope'])).toMatchObject({ code: 1, out: '' });
  });

  it('shows one by the beginning of its id while it is open, and by the whole id for ever', async () => {
    const id = await turn.ask(0, {
      tool: 'write',
      reason: 'It is outside of the workspace.',
      preview: { kind: 'diff', text: '--- a\n+++ b\n+x' },
    });
    const open = await cli(['approvals', 'show', id.slice(0, 20)]);
    expect(open.code).toBe(0);
    expect(open.out).toContain('reason    It is outside of the workspace.\n');
    expect(open.out).toContain('status    open\n');
    expect(open.out.endsWith('\n\n--- a\n+++ b\n+x\n')).toBe(true);
    await cli(['approvals', 'deny', id, '--note', 'not there']);
    expect((await cli(['approvals', 'show', id.slice(0, 20)])).err).toContain('No open approval');
    const closed = (await cli(['approvals', 'show', id])).out;
    expect(closed).toContain('status    denied\ndecided   by local at ');
    expect(closed).toContain('note      not there\n');
    expect(JSON.parse((await cli(['approvals', 'show', id, '--json'])).out)).toMatchObject({
      decision: { outcome: 'denied' },
    });
  });

  it('shows arguments where there is no preview, and spells out what a terminal would obey or hide', async () => {
    const id = await turn.ask(0, {
      preview: undefined,
      reason: 'Because\u001b[2K of\u202e this',
      arguments: JSON.stringify({ command: 'ls\u001b[1A\u200b' }),
    });
    const { out } = await cli(['approvals', 'show', id]);
    expect(out).toContain('Because\\u001b[2K of\\u202e this');
    expect(out).toContain('"command": "ls\\u001b[1A\\u200b"');
    expect(out).not.toMatch(/[\u001b\u202e\u200b]/);
  });

  it('allows with edited arguments, for the session, by a pattern, with a note', async () => {
    const [edited, pattern] = (await turn.askAll(2)) as [ApprovalId, ApprovalId];
    const first = await cli([
      'approvals',
      'allow',
      edited,
      '--arguments',
      '{"command":"ls"}',
      '--note',
      'so',
    ]);
    expect(first).toMatchObject({ code: 0, out: `allowed ${edited}\n` });
    expect(await decisionOf(edited)).toMatchObject({
      arguments: { command: 'ls' },
      note: 'so',
      scope: 'once',
    });
    await cli([
      'approvals',
      'allow',
      pattern,
      '--for-session',
      '--match',
      'command=npm *',
      '--match',
      'cwd=a=b',
    ]);
    expect(await decisionOf(pattern)).toMatchObject({
      scope: 'session',
      match: { command: 'npm *', cwd: 'a=b' },
    });
  });

  it('decides many at once, and says with its exit code that not all of them stand', async () => {
    const ids = (await turn.askAll(3)) as [ApprovalId, ApprovalId, ApprovalId];
    await cli(['approvals', 'deny', ids[1]]);
    const some = await cli(['approvals', 'allow', ...ids]);
    expect(some).toMatchObject({ code: 1, out: `allowed ${ids[0]}\nallowed ${ids[2]}\n` });
    expect(some.err).toContain(`${ids[1]} is not decided: APPROVAL_DECIDED`);
    expect((await cli(['approvals', 'allow', ids[0], ids[2]])).code).toBe(0);
  });

  it('explains why a single one is not decided', async () => {
    const id = await turn.ask(0);
    await cli(['approvals', 'deny', id]);
    const { code, err } = await cli(['approvals', 'allow', id]);
    expect(code).toBe(1);
    expect(err).toContain('denied by local');
  });

  it('refuses a beginning that several have', async () => {
    await turn.askAll(2);
    const { code, err } = await cli(['approvals', 'deny', '0']);
    expect(code).toBe(1);
    expect(err).toContain('More than one');
    expect((await api.store.readState(turn.uid)).approvals).toHaveLength(2);
  });

  it.each([
    [['approvals', 'dance']],
    [['approvals', 'allow']],
    [['approvals', 'allow', 'x', '--arguments', 'ls']],
    [['approvals', 'allow', 'x', '--arguments', '["ls"]']],
    [['approvals', 'allow', 'x', 'y', '--arguments', '{}']],
    [['approvals', 'allow', 'x', '--match', 'command=*']],
    [['approvals', 'allow', 'x', '--for-session', '--match', 'command']],
    [['approvals', 'deny', 'x', '--for-session']],
    [['approvals', '--limit', '0']],
    [['questions', 'answer', 'x']],
  ])('exits 2 for %j', async (args) => {
    expect((await cli(args)).code).toBe(2);
  });
});

describe('turnkeeper questions', () => {
  const QUESTIONS = [
    { id: 'colour', question: 'Which colour?', options: ['red', 'blue'] },
    { id: 'name', question: 'What name?' },
  ];

  it('lists and shows what is asked', async () => {
    const id = await turn.askQuestion(0, QUESTIONS);
    expect((await cli(['questions'])).out).toMatch(
      new RegExp(`^QUESTION +SESSION .*\n${id} +s +open .* Which colour\\? / What name\\?\n$`),
    );
    expect(JSON.parse((await cli(['questions', '--json'])).out)).toMatchObject({ questionId: id });
    const { out } = await cli(['questions', 'show', id.slice(0, 30)]);
    expect(out).toContain('colour: Which colour?\n  1 red\n  2 blue\nname: What name?\n');
    expect((await cli(['questions', '--session', 'nope'])).code).toBe(1);
  });

  it('answers by flags, each an option or free words', async () => {
    const id = await turn.askQuestion(0, QUESTIONS);
    const answered = await cli(['questions', 'answer', id, '--answer', 'colour=red', '--answer', 'name=a=b']);
    expect(answered).toMatchObject({ code: 0, out: `answered ${id}\n` });
    expect((await call(`${api.url}/v1/questions/${id}`, 'GET')).body).toMatchObject({
      answer: {
        answers: [
          { id: 'colour', selected: ['red'] },
          { id: 'name', selected: [], text: 'a=b' },
        ],
      },
    });
    expect((await cli(['questions', 'show', id])).out).toContain('name: What name?\n  > a=b\n');
    expect((await cli(['questions'])).err).toBe('No question waits for an answer.\n');
    const other = await cli(['questions', 'answer', id, '--answer', 'colour=blue', '--answer', 'name=a']);
    expect(other.code).toBe(1);
    expect(other.err).toContain('APPROVAL_DECIDED');
  });

  it('refuses an answer to what is not asked, and two in free words', async () => {
    const id = await turn.askQuestion(0, QUESTIONS);
    const unknown = await cli(['questions', 'answer', id, '--answer', 'size=M']);
    expect(unknown.code).toBe(2);
    expect(unknown.err).toContain('colour, name');
    expect((await cli(['questions', 'answer', id, '--answer', 'name=a', '--answer', 'name=b'])).code).toBe(2);
  });

  it('asks at a terminal, and answers nothing where the input ends first', async () => {
    const id = await turn.askQuestion(0, QUESTIONS);
    const dialogue = async (play: (io: ReturnType<typeof fakeIo>) => Promise<void>) => {
      const io = fakeIo({ isTerminal: { in: true, err: true }, env: { TURNKEEPER_SERVER: api.url } });
      const done = runCli(['questions', 'answer', id], io);
      await io.wrote('A number');
      await play(io);
      return done;
    };
    const cut = await dialogue(async (io) => {
      io.hangUp();
    });
    expect(cut).toBe(1);
    const whole = await dialogue(async (io) => {
      io.type('blue');
      await io.wrote('Your answer');
      io.type('Ann');
    });
    expect(whole).toBe(0);
    expect((await call(`${api.url}/v1/questions/${id}`, 'GET')).body).toMatchObject({
      answer: { answers: [{ selected: ['blue'] }, { text: 'Ann' }] },
    });
  });
});
