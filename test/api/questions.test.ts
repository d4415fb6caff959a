import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { v7 as uuidv7 } from 'uuid';
import type { Answer as Answered, Question } from '../../src/contract/events.js';
import { type Page } from '../../src/contract/http.js';
import { questionResourceSchema, type QuestionResource } from '../../src/contract/http-asks.js';
import type { QuestionId } from '../../src/contract/ids.js';
import { call, startApi, type ApiServer } from './api-server.js';
import { AskedTurn } from './asked-turn.js';

let api: ApiServer;
let now: number;
let turn: AskedTurn;
beforeEach(async () => {
  now = Date.UTC(2026, 0, 1);
  api = await startApi({ clock: () => now });
  turn = await AskedTurn.start(api, 's', 3);
});
afterEach(() => api.stop());

const QUESTIONS: readonly Question[] = [
  { id: 'colour', question: 'Which colour?', options: ['red', 'blue'] },
  { id: 'name', question: 'What name?' },
];
const ANSWERS: readonly Answered[] = [
  { id: 'colour', selected: ['red'] },
  { id: 'name', selected: [], text: 'Ann' },
];
const answer = (id: string, answers: unknown) => call(`${api.url}/v1/questions/${id}`, 'POST', { answers });
const show = async (id: string): Promise<QuestionResource> =>
  questionResourceSchema.parse((await call(`${api.url}/v1/questions/${id}`, 'GET')).body);
const answersIn = async () => api.store.readEvents(turn.uid, { limit: 99, types: ['question/answered'] });
const nudged = (id: QuestionId) =>
  api.nudges.filter(({ ask }) => ask?.kind === 'question' && ask.questionId === id).length;

describe('a question', () => {
  it('is shown as the model asked it, and counts as something that waits', async () => {
    const id = await turn.askQuestion(1, QUESTIONS, '2026-02-01T00:00:00.000Z');
    expect(await show(id)).toEqual({
      questionId: id,
      sessionId: 's',
      turn: 1,
      step: 1,
      callId: turn.driver.callId(1),
      questions: QUESTIONS,
      askedAt: '2026-01-01T00:00:00.000Z',
      expiresAt: '2026-02-01T00:00:00.000Z',
    });
    expect((await call(`${api.url}/v1/sessions/s/turns/1`, 'GET')).body).toMatchObject({
      status: 'waiting-approval',
    });
  });

  it('that is not there, or is an approval, is not found', async () => {
    const approval = await turn.ask(0);
    for (const id of [uuidv7(), approval]) {
      expect((await call(`${api.url}/v1/questions/${id}`, 'GET')).status).toBe(404);
      expect((await answer(id, ANSWERS)).body).toMatchObject({ code: 'NOT_FOUND' });
    }
  });

  it('is listed with its like only, by state and session', async () => {
    await turn.ask(0);
    const first = await turn.askQuestion(1, QUESTIONS);
    const second = await turn.askQuestion(2, QUESTIONS);
    await answer(first, ANSWERS);
    const list = async (path: string) =>
      ((await call(`${api.url}/v1/${path}`, 'GET')).body as Page<QuestionResource>).items.map(
        ({ questionId }) => questionId,
      );
    expect(await list('questions')).toEqual([second]);
    expect(await list('questions?status=closed')).toEqual([first]);
    expect(await list('sessions/s/questions?status=all')).toEqual([second, first]);
    expect(await list('questions?status=all&limit=1&session=s')).toEqual([second]);
    expect(await list(`questions?status=all&cursor=${second}`)).toEqual([first]);
  });
});

describe('answering', () => {
  it('stores the answers and who gave them, and tells the engine', async () => {
    const id = await turn.askQuestion(0, QUESTIONS);
    const { status, body } = await answer(id, ANSWERS);
    expect(status).toBe(200);
    const stored = { outcome: 'answered', answers: ANSWERS, by: 'local', at: '2026-01-01T00:00:00.000Z' };
    expect(questionResourceSchema.parse(body).answer).toEqual(stored);
    expect((await show(id)).answer).toEqual(stored);
    expect(api.nudges).toContainEqual({
      kind: 'decision',
      uid: turn.uid,
      turn: 1,
      ask: { kind: 'question', questionId: id },
    });
    expect((await call(`${api.url}/v1/sessions/s`, 'GET')).body).toMatchObject({ status: 'running' });
  });

  it('answers the same again in any order, and refuses other words', async () => {
    const id = await turn.askQuestion(0, QUESTIONS);
    const first = await answer(id, ANSWERS);
    const again = await answer(id, ANSWERS.toReversed());
    expect([again.status, again.body]).toEqual([200, first.body]);
    const other = await answer(id, [{ id: 'colour', selected: ['blue'] }, ANSWERS[1]]);
    expect(other.body).toMatchObject({ status: 409, code: 'APPROVAL_DECIDED' });
    expect((other.body as { detail: string }).detail).toContain('in other words');
    expect(await answersIn()).toHaveLength(1);
    expect(nudged(id)).toBe(1);
  });

  it('takes one of many that come at once', async () => {
    const id = await turn.askQuestion(0, [{ id: 'n', question: 'Which number?' }]);
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, n) => answer(id, [{ id: 'n', selected: [], text: String(n % 4) }])),
    );
    const [stored] = await answersIn();
    expect(await answersIn()).toHaveLength(1);
    const text = stored?.type === 'question/answered' ? stored.data.answers?.[0]?.text : undefined;
    expect(answers.map(({ status }) => status)).toEqual(
      Array.from({ length: 20 }, (_, n) => (String(n % 4) === text ? 200 : 409)),
    );
  });

  it('refuses what does not fit the questions', async () => {
    const id = await turn.askQuestion(0, QUESTIONS);
    for (const answers of [
      [{ id: 'nothing', selected: ['red'] }],
      [{ id: 'colour', selected: ['green'] }, ANSWERS[1]],
    ]) {
      expect((await answer(id, answers)).body).toMatchObject({ code: 'INVALID_REQUEST', field: 'answers' });
    }
    expect((await answer(id, [{ selected: [] }])).body).toMatchObject({ field: 'answers.0.id' });
    expect((await show(id)).answer).toBeUndefined();
    expect(nudged(id)).toBe(0);
  });

  it.each<[string, (id: QuestionId) => Promise<unknown>]>([
    ['withdrawn', () => turn.end()],
    ['cancelled', () => call(`${api.url}/v1/sessions/s/cancel`, 'POST', {})],
    [
      'expired',
      async () => {
        now += 60_000;
      },
    ],
  ])('comes too late where the question is %s', async (word, close) => {
    const id = await turn.askQuestion(0, QUESTIONS, '2026-01-01T00:01:00.000Z');
    await close(id);
    const { body } = await answer(id, ANSWERS);
    expect(body).toMatchObject({ status: 409, code: 'APPROVAL_CLOSED' });
    expect((body as { detail: string }).detail).toContain(word);
    expect(nudged(id)).toBe(0);
    if (word !== 'cancelled') expect((await show(id)).answer).toMatchObject({ outcome: word, answers: null });
  });
});
