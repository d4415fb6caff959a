import { describe, expect, it } from 'vitest';
import { schemaProblem, schemaViolations } from '../../../src/activities/output-schema.js';
import { judgeOutput } from '../../../src/activities/structured-output.js';

const SCHEMA = {
  type: 'object',
  properties: { name: { type: 'string' }, level: { enum: ['low', 'high'] } },
  required: ['name'],
  additionalProperties: false,
};

describe('a schema', () => {
  it.each([
    [{}],
    [SCHEMA],
    [{ $schema: 'https://json-schema.org/draft/2020-12/schema', prefixItems: [{ type: 'string' }] }],
    [{ $schema: 'http://json-schema.org/draft-07/schema#', items: [{ type: 'string' }] }],
    [{ $defs: { a: { type: 'string' } }, properties: { a: { $ref: '#/$defs/a' } } }],
    [{ type: 'string', format: 'date', 'x-own': 1, example: 'y' }],
  ])('is valid: %j', (schema) => {
    expect(schemaProblem(schema)).toBeUndefined();
  });

  it.each([
    [{ type: 'strng' }, /type/],
    [{ required: 'name' }, /required/],
    [{ properties: { a: { minimum: 'x' } } }, /minimum/],
    [{ pattern: '(' }, /regular expression/i],
    [{ $ref: 'https://example.com/other.json' }, /can't resolve|reference/i],
    [{ $schema: 'https://example.com/own' }, /\$schema/],
    [{ $schema: 4 }, /\$schema/],
    [{ $async: true }, /\$async/],
  ])('is not: %j', (schema, expected) => {
    expect(schemaProblem(schema)).toMatch(/^is no valid JSON Schema: /);
    expect(schemaProblem(schema)).toMatch(expected);
  });

  it('is known again although another one has the same $id', () => {
    const ofType = (type: string) => ({ $id: 'https://example.com/mine', type });
    expect(schemaViolations(ofType('string'), 'x')).toEqual([]);
    expect(schemaViolations(ofType('number'), 'x')).toHaveLength(1);
  });

  it('that backtracks without end holds nothing up', () => {
    const violations = schemaViolations({ type: 'string', pattern: '^(a+)+$' }, `${'a'.repeat(60)}b`);
    expect(violations).toEqual([expect.stringMatching(/takes too long/)]);
  });

  it('names each violation with its place, and what would be allowed', () => {
    expect(schemaViolations(SCHEMA, { level: 'middle', other: 1 })).toEqual([
      expect.stringMatching(/^the value .*name/),
      expect.stringMatching(/^the value .*"other"/),
      expect.stringMatching(/^\/level .*\["low","high"\]/),
    ]);
  });
});

describe('the last message of a turn', () => {
  const judge = (output: string, told = 1) => judgeOutput({ schema: SCHEMA, told }, output);

  it.each([
    ['{"name": "a"}'],
    ['  {"name": "a"}\n'],
    ['```json\n{"name": "a"}\n```'],
    ['Here it is:\n\n```\n{"name": "a"}\n```\nDone.'],
    ['First ```json\n{"name": "draft"}\n``` no:\n```json\n{"name": "b"}\n```\n```json\n{"name": "a"}\n```'],
  ])('fits: %j', (output) => {
    expect(judge(output)).toEqual({ kind: 'fits', structured: { name: 'a' } });
  });

  it('fits as any kind of value', () => {
    expect(judgeOutput({ schema: {}, told: 1 }, 'null')).toEqual({ kind: 'fits', structured: null });
    expect(judgeOutput({ schema: { type: 'array' }, told: 1 }, '[1]')).toEqual({
      kind: 'fits',
      structured: [1],
    });
  });

  it.each([
    ['', /no JSON/],
    ['I do not know.', /no JSON/],
    ['{"name": "a"', /no JSON/],
    ['{}', /name/],
    [`${'['.repeat(50_000)}${']'.repeat(50_000)}`, /no JSON/],
  ])('is corrected: %#', (output, expected) => {
    const verdict = judge(output);
    if (verdict.kind !== 'correct') throw new Error(verdict.kind);
    const [block] = verdict.message.content;
    expect(block).toMatchObject({ type: 'text', text: expect.stringMatching(expected) as string });
    expect(verdict.message.source).toEqual({ kind: 'hook', name: 'output-schema' });
  });

  it('is corrected twice, and then the turn fails', () => {
    expect([1, 2, 3].map((told) => judge('no', told).kind)).toEqual(['correct', 'correct', 'refused']);
    expect(judge('no', 3)).toMatchObject({ reason: { kind: 'error', code: 'OUTPUT_SCHEMA_MISMATCH' } });
  });
});
