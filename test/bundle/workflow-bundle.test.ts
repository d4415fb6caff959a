import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { workflowBundlePath } from '../../src/runtime/workflow-bundle.js';

const code = readFileSync(workflowBundlePath(), 'utf8');
const modules = [...code.matchAll(/^\/\*\*\*\/ "([^"]+)":?/gm)].map(([, name]) => name ?? '');

describe('the workflow bundle', () => {
  it('is made of the workflow rooms and the SDK, and of nothing that does I/O', () => {
    const own = modules.filter((name) => name.startsWith('./dist/'));
    expect(own.length).toBeGreaterThan(3);
    for (const name of own) expect(name).toMatch(/^\.\/dist\/(?:workflows|core|contract)\//);
    const packages = modules.flatMap((name) => /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(name)?.[1] ?? []);
    expect([...new Set(packages)].sort()).toEqual(
      expect.arrayContaining(['@temporalio/common', '@temporalio/workflow']),
    );
    for (const heavy of ['zod', 'better-sqlite3', 'kysely', 'express', 'eventsource-parser']) {
      expect(packages).not.toContain(heavy);
    }
  });
});
