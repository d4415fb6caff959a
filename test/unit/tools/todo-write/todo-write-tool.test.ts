import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { todoWriteTool } from '../../../../src/tools/todo-write/todo-write-tool.js';
import { createToolFixture, textOf, type ToolFixture } from '../tool-fixture.js';

let fixture: ToolFixture;
beforeEach(async () => {
  fixture = await createToolFixture();
});
afterEach(() => fixture.remove());

const write = (todos: unknown) => fixture.run('todo_write', { todos });

describe('todo_write', () => {
  it('gives the list to the session, in order, and the model a summary', async () => {
    const todos = [
      { content: 'Read', status: 'completed' },
      { content: 'Think', status: 'in_progress' },
      { content: 'Write', status: 'pending' },
    ];
    const outcome = await write(todos);
    expect(outcome).toMatchObject({ isError: false, todos });
    expect(textOf(outcome)).toBe('The list has 3 entries: 1 completed, 1 in progress, 1 pending.');
  });

  it('empties the list', async () => {
    const outcome = await write([]);
    expect(outcome.todos).toEqual([]);
    expect(textOf(outcome)).toBe('The list is empty now.');
  });

  it('keeps two lists of one step in their order', () => {
    expect(todoWriteTool.concurrency({ todos: [] })).toBe('exclusive');
  });

  const todo = { content: 'x', status: 'pending' };
  it('takes 200 entries of 1000 characters', async () => {
    const outcome = await write(Array.from({ length: 200 }, () => ({ ...todo, content: 'x'.repeat(1000) })));
    expect(outcome.todos).toHaveLength(200);
  });

  it.each([
    ['more than 200 entries', Array.from({ length: 201 }, () => todo)],
    ['an empty entry', [{ ...todo, content: '' }]],
    ['a blank entry', [{ ...todo, content: ' \n' }]],
    ['an entry over 1000 characters', [{ ...todo, content: 'x'.repeat(1001) }]],
    ['an unknown status', [{ ...todo, status: 'done' }]],
    ['an unknown field', [{ ...todo, priority: 1 }]],
    ['no list', undefined],
  ])('changes nothing with %s', async (_what, todos) => {
    const outcome = await write(todos);
    expect(outcome.error?.code).toBe('INVALID_ARGS');
    expect(outcome.todos).toBeUndefined();
  });
});
