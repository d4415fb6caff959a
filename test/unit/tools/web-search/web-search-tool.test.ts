import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ToolError } from '../../../../src/tools/tool.js';
import type { SearchHit } from '../../../../src/tools/web-search/search-provider.js';
import { createWebSearchTool } from '../../../../src/tools/web-search/web-search-tool.js';
import { createToolFixture, textOf, type ToolFixture } from '../tool-fixture.js';

const hit = (name: string, more: Partial<SearchHit> = {}): SearchHit => ({
  title: `About ${name}`,
  url: `https://${name}.example/`,
  snippet: `What ${name} is.`,
  ...more,
});

let fixture: ToolFixture;
let asked: string[];
beforeEach(async () => {
  asked = [];
  const search = async (query: string): Promise<SearchHit[]> => {
    asked.push(query);
    if (query.startsWith('bad')) throw new ToolError('TOOL_ERROR', `no ${query}`);
    return query === 'nothing' ? [] : [hit(query, { age: '2 days ago' }), hit('more', { snippet: '' })];
  };
  fixture = await createToolFixture({ tools: [createWebSearchTool({ search })] });
});
afterEach(() => fixture.remove());

const search = (queries: unknown) => fixture.run('web_search', { queries });

describe('web_search', () => {
  it('shows the hits of each query, in the order of the queries', async () => {
    expect(textOf(await search(['cats', 'nothing']))).toBe(
      [
        '## cats',
        '1. About cats (2 days ago)',
        '   https://cats.example/',
        '   What cats is.',
        '2. About more',
        '   https://more.example/',
        '',
        '## nothing',
        '[no hits]',
      ].join('\n'),
    );
    expect(asked).toEqual(['cats', 'nothing']);
  });

  it('keeps the hits of the other queries where one fails', async () => {
    const outcome = await search(['bad one', 'cats', 'bad two', 'dogs']);
    expect(outcome.isError).toBe(false);
    expect(textOf(outcome).match(/^(?:## .*|Error.*|1\. .*)$/gm)).toEqual([
      ...['## bad one', 'Error: no bad one', '## cats', '1. About cats (2 days ago)'],
      ...['## bad two', 'Error: no bad two', '## dogs', '1. About dogs (2 days ago)'],
    ]);
  });

  it('is an error where all queries fail', async () => {
    expect(await search(['bad one', 'bad two'])).toMatchObject({
      isError: true,
      error: { code: 'TOOL_ERROR' },
    });
  });

  it.each([[[]], [['a', 'b', 'c', 'd', 'e']], [[' ']], [['x'.repeat(401)]], ['cats'], [[1]]])(
    'does not run with %j',
    async (queries) => {
      expect((await search(queries)).error?.code).toBe('INVALID_ARGS');
      expect(asked).toEqual([]);
    },
  );
});
