import { describe, expect, it } from 'vitest';
import { parseInstructions } from '../../../../src/model/demo/instructions.js';

const inputs = (text: string) =>
  parseInstructions(text).map((step) => step.map(({ tool, input }) => ({ [tool]: input })));

describe('the instructions that the demo provider understands', () => {
  it.each([
    ['list files', [[{ glob: { pattern: '**/*' } }]]],
    ['List the files in src/', [[{ glob: { pattern: 'src/**/*' } }]]],
    ['Please read README.md.', [[{ read: { file_path: 'README.md' } }]]],
    [
      'read a.txt, b.txt and c.txt',
      [
        [
          { read: { file_path: 'a.txt' } },
          { read: { file_path: 'b.txt' } },
          { read: { file_path: 'c.txt' } },
        ],
      ],
    ],
    ['read a.txt and read b.txt', [[{ read: { file_path: 'a.txt' } }, { read: { file_path: 'b.txt' } }]]],
    ['run wc -l README.md', [[{ bash: { command: 'wc -l README.md' } }]]],
    ['run `if true; then echo "a and b"; fi`', [[{ bash: { command: 'if true; then echo "a and b"; fi' } }]]],
    ['run ls ..', [[{ bash: { command: 'ls ..' } }]]],
    ['write notes.txt with hello world', [[{ write: { file_path: 'notes.txt', content: 'hello world' } }]]],
    [
      'create a file notes.txt containing "one then two"',
      [[{ write: { file_path: 'notes.txt', content: 'one then two' } }]],
    ],
    ['write hello to out.txt', [[{ write: { file_path: 'out.txt', content: 'hello' } }]]],
    ['search TODO', [[{ grep: { pattern: 'TODO' } }]]],
    ['search for main(', [[{ grep: { pattern: 'main\\(' } }]]],
    ['wait 2 seconds', [[{ bash: { command: 'sleep 2' } }]]],
    ['wait for 0.5s', [[{ bash: { command: 'sleep 0.5' } }]]],
    ['wait 3 minutes', [[{ bash: { command: 'sleep 180', timeout_ms: 190_000 } }]]],
    [
      'list files, then read README.md, then run wc -l README.md',
      [
        [{ glob: { pattern: '**/*' } }],
        [{ read: { file_path: 'README.md' } }],
        [{ bash: { command: 'wc -l README.md' } }],
      ],
    ],
    [
      'First list files. Then wait 1 second and then read a',
      [[{ glob: { pattern: '**/*' } }], [{ bash: { command: 'sleep 1' } }], [{ read: { file_path: 'a' } }]],
    ],
  ])('%s', (text, expected) => {
    expect(inputs(text)).toEqual(expected);
  });

  it.each(['hello', 'what can you do?', '', 'I read a book then slept', 'x'.repeat(5000)])(
    'are not in: %s',
    (text) => {
      expect(parseInstructions(text)).toEqual([]);
    },
  );
});
