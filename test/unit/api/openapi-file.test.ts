import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { describeApi } from '../../../src/api/openapi.js';

function read(path: string): unknown {
  return JSON.parse(readFileSync(new URL(`../../../${path}`, import.meta.url), 'utf8'));
}

describe('docs/openapi.json', () => {
  it('is the description that is served; `npm run openapi` writes it', () => {
    const { version } = read('package.json') as { version: string };
    // As it is sent: without what JSON cannot hold.
    expect(read('docs/openapi.json')).toEqual(JSON.parse(JSON.stringify(describeApi(version))));
  });

  it('names every status that a call may be answered with, and no "default" in their place', () => {
    const { paths } = read('docs/openapi.json') as {
      paths: Record<string, Record<string, { responses: Record<string, unknown> }>>;
    };
    for (const [path, methods] of Object.entries(paths)) {
      for (const [method, { responses }] of Object.entries(methods)) {
        expect(Object.keys(responses), `${method} ${path}`).toEqual(expect.arrayContaining(['400', '500']));
        expect(responses, `${method} ${path}`).not.toHaveProperty('default');
      }
    }
  });
});
