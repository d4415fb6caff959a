import { describe, expect, it } from 'vitest';
import { endingOf, exitCodeOf } from '../../../src/cli/exit-codes.js';
import type { TurnEndReason } from '../../../src/contract/turn-end.js';

const NOTHING = { wasInterrupted: false, wasTimedOut: false, lackedPerson: false };
const aborted: TurnEndReason = { kind: 'aborted', cause: 'user', by: 'local' };

describe('the exit code of a run', () => {
  it.each<[TurnEndReason, Partial<typeof NOTHING>, number]>([
    [{ kind: 'completed' }, {}, 0],
    [{ kind: 'completed' }, { lackedPerson: true }, 5],
    [{ kind: 'error', code: 'AUTH', message: 'no' }, {}, 1],
    [{ kind: 'error', code: 'AUTH', message: 'no' }, { lackedPerson: true }, 1],
    [{ kind: 'interrupted', note: 'lost' }, {}, 1],
    [{ kind: 'blocked', hook: 'guard', note: 'no' }, {}, 3],
    [{ kind: 'max-tokens' }, {}, 4],
    [{ kind: 'limit', which: 'steps', value: 3 }, {}, 4],
    [aborted, { wasTimedOut: true }, 4],
    [aborted, { wasInterrupted: true }, 130],
    [aborted, { wasInterrupted: true, wasTimedOut: true }, 130],
    [aborted, {}, 130],
    [{ kind: 'completed' }, { wasTimedOut: true }, 0],
    [{ kind: 'completed' }, { wasInterrupted: true }, 130],
  ])('after %j with %j is %i', (reason, circumstances, code) => {
    expect(exitCodeOf(reason, { ...NOTHING, ...circumstances })).toBe(code);
  });

  it('is explained for every end but a good one', () => {
    expect(endingOf({ kind: 'completed' })).toBeUndefined();
    expect(endingOf({ kind: 'error', code: 'AUTH', message: 'no key' })).toContain('no key');
    expect(endingOf({ kind: 'limit', which: 'steps', value: 3 })).toContain('steps');
  });
});
