import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Answer } from '../../../../src/contract/events.js';
import { askUserQuestionTool } from '../../../../src/tools/ask-user-question/ask-user-question-tool.js';
import { createToolFixture, textOf, type ToolFixture } from '../tool-fixture.js';

const QUESTIONS = [
  { id: 'color', question: 'Which color?', options: ['red', 'green', 'blue'], multi_select: true },
  { id: 'name', question: 'Which name?' },
];

let fixture: ToolFixture;
beforeEach(async () => {
  fixture = await createToolFixture({ tools: [askUserQuestionTool] });
});
afterEach(() => fixture.remove());

const ask = (questions: unknown, answers: readonly Answer[] = []) =>
  fixture.run('ask_user_question', { questions }, { answers });

describe('ask_user_question', () => {
  it('asks its questions as the log spells them', () => {
    expect(askUserQuestionTool.questions?.({ questions: QUESTIONS })).toEqual([
      { id: 'color', question: 'Which color?', options: ['red', 'green', 'blue'], multiSelect: true },
      { id: 'name', question: 'Which name?' },
    ]);
  });

  it('shows the model each question with what was chosen and said', async () => {
    const answers = [
      { id: 'name', selected: [], text: 'Ada' },
      { id: 'color', selected: ['red', 'blue'], text: 'but dark' },
    ];
    expect(textOf(await ask(QUESTIONS, answers))).toBe(
      'Question: Which color?\nChosen: red; blue\nAnswer: but dark\n\nQuestion: Which name?\nAnswer: Ada',
    );
  });

  it('says which question got no answer', async () => {
    const answers = [{ id: 'color', selected: ['red'] }];
    expect(textOf(await ask(QUESTIONS, answers))).toBe(
      'Question: Which color?\nChosen: red\n\nQuestion: Which name?\n[no answer]',
    );
  });

  const question = { id: 'a', question: 'A?' };
  it.each([
    ['no question', []],
    [
      'more than 10 questions',
      Array.from({ length: 11 }, (_, index) => ({ ...question, id: String(index) })),
    ],
    ['two questions of one id', [question, { ...question, question: 'B?' }]],
    ['a blank question', [{ ...question, question: ' ' }]],
    ['one option', [{ ...question, options: ['x'] }]],
    ['no options', [{ ...question, options: [] }]],
    ['the same option twice', [{ ...question, options: ['x', 'y', 'x'] }]],
    ['an unknown field', [{ ...question, multiSelect: true }]],
  ])('is not asked with %s', async (_what, questions) => {
    expect((await ask(questions)).error?.code).toBe('INVALID_ARGS');
  });
});
