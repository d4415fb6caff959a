import { describe, expect, it } from 'vitest';
import type { Answer, Question } from '../../../src/contract/events.js';
import { checkAnswers } from '../../../src/core/answers.js';

const QUESTIONS: Question[] = [
  { id: 'one', question: 'One of them?', options: ['a', 'b'] },
  { id: 'many', question: 'Some of them?', options: ['a', 'b', 'c'], multiSelect: true },
  { id: 'open', question: 'What?' },
];
const ONE: Answer = { id: 'one', selected: ['a'] };
const MANY: Answer = { id: 'many', selected: ['c', 'a'] };
const OPEN: Answer = { id: 'open', selected: [], text: 'this' };

describe('answers', () => {
  it.each([
    ['options, several and words', [ONE, MANY, OPEN]],
    ['any order', [OPEN, ONE, MANY]],
    ['one option where several may be chosen', [ONE, { ...MANY, selected: ['b'] }, OPEN]],
    ['words in the place of options', [{ ...ONE, selected: [], text: 'c' }, MANY, OPEN]],
    ['words beside an option', [{ ...ONE, text: 'please' }, MANY, OPEN]],
  ])('fit with %s', (_what, answers) => {
    expect(checkAnswers(QUESTIONS, answers)).toBeUndefined();
  });

  it.each([
    [[], 'The question "one" has no answer.'],
    [[ONE, OPEN], 'The question "many" has no answer.'],
    [[ONE, MANY, OPEN, { ...ONE, id: 'two' }], 'There is no question "two".'],
    [[ONE, ONE, MANY, OPEN], 'The question "one" is answered twice.'],
    [[{ ...ONE, selected: ['c'] }, MANY, OPEN], 'The question "one" has no option "c".'],
    [[ONE, MANY, { ...OPEN, selected: ['a'] }], 'The question "open" has no option "a".'],
    [[{ ...ONE, selected: ['a', 'b'] }, MANY, OPEN], 'The question "one" takes one option only.'],
    [[ONE, { ...MANY, selected: ['a', 'a'] }, OPEN], 'The answer to "many" selects an option twice.'],
    [[ONE, MANY, { id: 'open', selected: [] }], 'The answer to "open" has neither an option nor a text.'],
    [[ONE, MANY, { ...OPEN, text: ' \n' }], 'The answer to "open" has neither an option nor a text.'],
  ])('do not fit: %j', (answers, message) => {
    expect(checkAnswers(QUESTIONS, answers)).toBe(message);
  });
});
