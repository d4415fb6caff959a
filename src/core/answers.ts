/** Whether what a person answered fits the questions that were asked. */
import type { Answer, Question } from '../contract/events.js';

/**
 * What is wrong with the answers, as a sentence; undefined where nothing is. Every question needs exactly one answer: of
 * its options (more than one only where it says so), words of the person's own, or both.
 */
export function checkAnswers(questions: readonly Question[], answers: readonly Answer[]): string | undefined {
  const ids = new Set<string>();
  for (const answer of answers) {
    const question = questions.find(({ id }) => id === answer.id);
    if (question === undefined) return `There is no question ${JSON.stringify(answer.id)}.`;
    if (ids.has(answer.id)) return `The question ${JSON.stringify(answer.id)} is answered twice.`;
    ids.add(answer.id);
    const violation = checkAnswer(question, answer);
    if (violation !== undefined) return violation;
  }
  const open = questions.find(({ id }) => !ids.has(id));
  return open === undefined ? undefined : `The question ${JSON.stringify(open.id)} has no answer.`;
}

function checkAnswer(
  { id, options = [], multiSelect = false }: Question,
  answer: Answer,
): string | undefined {
  const name = JSON.stringify(id);
  const { selected, text = '' } = answer;
  const unknown = selected.find((option) => !options.includes(option));
  if (unknown !== undefined) return `The question ${name} has no option ${JSON.stringify(unknown)}.`;
  if (new Set(selected).size < selected.length) return `The answer to ${name} selects an option twice.`;
  if (selected.length > 1 && !multiSelect) return `The question ${name} takes one option only.`;
  if (selected.length === 0 && text.trim() === '')
    return `The answer to ${name} has neither an option nor a text.`;
  return undefined;
}
