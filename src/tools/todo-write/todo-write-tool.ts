/** The tool `todo_write`: replaces the session's list of things to do. */
import { z } from 'zod';
import type { Todo } from '../../contract/events.js';
import { defineTool } from '../tool.js';

const MAX_TODOS = 200;
const MAX_CHARACTERS = 1000;

const parameters = z.strictObject({
  todos: z
    .array(
      z.strictObject({
        content: z
          .string()
          .min(1)
          .max(MAX_CHARACTERS)
          .refine((content) => content.trim() !== '', 'must not be blank')
          .describe('What is to be done, in a few words.'),
        status: z.enum(['pending', 'in_progress', 'completed']),
      }),
    )
    .max(MAX_TODOS)
    .describe('The whole list, in order. It takes the place of the one before.'),
});

export const todoWriteTool = defineTool({
  name: 'todo_write',
  description:
    'Keeps the list of what is to be done in this session, which the person sees. Send the whole list each time: it ' +
    'replaces the one before. Use it for work of several steps, and set each entry to in_progress as it begins and to ' +
    'completed as soon as it is done.',
  parameters,
  effect: 'idempotent',
  permission: 'none',
  // Two lists in one step: the later one is to win.
  concurrency: () => 'exclusive',
  timeoutMs: () => 5000,
  execute: async ({ todos }) => ({ content: summary(todos), todos }),
});

function summary(todos: readonly Todo[]): string {
  if (todos.length === 0) return 'The list is empty now.';
  const count = (status: Todo['status']) => String(todos.filter((todo) => todo.status === status).length);
  const entries = todos.length === 1 ? '1 entry' : `${String(todos.length)} entries`;
  return `The list has ${entries}: ${count('completed')} completed, ${count('in_progress')} in progress, ${count('pending')} pending.`;
}
