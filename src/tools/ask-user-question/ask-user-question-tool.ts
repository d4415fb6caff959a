/** The tool `ask_user_question`: questions that a person answers before the turn goes on. */
import { z } from 'zod';
import type { Answer, Question } from '../../contract/events.js';
import { defineTool } from '../tool.js';

const MAX_QUESTIONS = 10;
const MAX_OPTIONS = 50;
const MAX_CHARACTERS = 4000;

const text = z
  .string()
  .min(1)
  .max(MAX_CHARACTERS)
  .refine((value) => value.trim() !== '', 'must not be blank');

const questionParameter = z.strictObject({
  id: z.string().min(1).max(100).describe('Names the question in the answers.'),
  question: text,
  options: z
    .array(text)
    .min(2)
    .max(MAX_OPTIONS)
    .refine(areUnique, 'must not repeat an option')
    .optional()
    .describe('Answers to choose from. The person may always answer in words of their own.'),
  multi_select: z.boolean().optional().describe('More than one option may be chosen. Default: one.'),
});

const parameters = z.strictObject({
  questions: z
    .array(questionParameter)
    .min(1)
    .max(MAX_QUESTIONS)
    .refine((questions) => areUnique(questions.map(({ id }) => id)), 'must not repeat an id'),
});

export const askUserQuestionTool = defineTool({
  name: 'ask_user_question',
  description:
    'Asks the person and waits for the answers, however long they take. Use it for a decision that is theirs and that ' +
    'the task and the files do not settle; ask all there is to ask at once.',
  parameters,
  effect: 'read',
  permission: 'none',
  concurrency: () => 'parallel',
  timeoutMs: () => 5000,
  questions: ({ questions }) => questions.map(toQuestion),
  execute: async ({ questions }, { answers }) => ({
    content: questions
      .map(({ id, question }) =>
        render(
          question,
          answers.find((answer) => answer.id === id),
        ),
      )
      .join('\n\n'),
  }),
});

function toQuestion({ id, question, options, multi_select }: z.infer<typeof questionParameter>): Question {
  return {
    id,
    question,
    ...(options === undefined ? {} : { options }),
    ...(multi_select === undefined ? {} : { multiSelect: multi_select }),
  };
}

function render(question: string, answer: Answer | undefined): string {
  const lines = [`Question: ${question}`];
  const { selected, text: words = '' } = answer ?? { selected: [] };
  if (selected.length > 0) lines.push(`Chosen: ${selected.join('; ')}`);
  if (words.trim() !== '') lines.push(`Answer: ${words}`);
  if (lines.length === 1) lines.push('[no answer]');
  return lines.join('\n');
}

function areUnique(values: readonly string[]): boolean {
  return new Set(values).size === values.length;
}
