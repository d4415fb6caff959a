import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createToolFixture } from './tool-fixture.js';

let fixture: Awaited<ReturnType<typeof createToolFixture>>;
beforeEach(async () => {
  fixture = await createToolFixture();
});
afterEach(() => fixture.remove());

const decide = async (decision: 'deny' | 'allow', pattern: string, path: string) => {
  const plan = await fixture.pipeline.planCall({
    ...fixture.request('read', { file_path: path }),
    policy: {
      mode: 'full-access',
      rules: [
        { tool: 'read', match: { file_path: pattern }, decision },
        ...(decision === 'allow' ? [{ tool: '*', decision: 'deny' } as const] : []),
      ],
      grants: [],
      sandboxed: false,
    },
  });
  return plan.decision.kind;
};

describe('a rule about a path', () => {
  it.each(['secret.txt', './secret.txt', 'a/../secret.txt', './/secret.txt'])(
    'knows it as %s',
    async (path) => {
      expect(await decide('deny', 'secret*', path)).toBe('deny');
    },
  );

  it('knows it as an absolute path, in the rule and in the call', async () => {
    const absolute = `${fixture.workspace}/secret.txt`;
    expect(await decide('deny', 'secret*', absolute)).toBe('deny');
    expect(await decide('deny', `${fixture.workspace}/secret*`, './secret.txt')).toBe('deny');
  });

  it('that allows a folder allows nothing that only begins like it', async () => {
    expect(await decide('allow', 'src/*', 'src/a.ts')).toBe('allow');
    expect(await decide('allow', 'src/*', 'src/../secret.txt')).toBe('deny');
    expect(await decide('allow', 'src/*', '../src/a.ts')).toBe('deny');
  });
});

it('a grant with a pattern of paths covers what it means and not how it is spelled', async () => {
  const covered = async (path: string) => {
    const plan = await fixture.pipeline.planCall({
      ...fixture.request('read', { file_path: path }),
      policy: {
        mode: 'full-access',
        rules: [{ tool: 'read', decision: 'ask' }],
        grants: [{ tool: 'read', match: { file_path: 'src/*' } }],
        sandboxed: false,
      },
    });
    return plan.decision.kind;
  };
  expect(await covered('./src/a.ts')).toBe('allow');
  expect(await covered('src/../a.ts')).toBe('ask');
});
