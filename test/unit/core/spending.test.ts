import { describe, expect, it } from 'vitest';
import type { Usage } from '../../../src/contract/usage.js';
import { ZERO_USAGE } from '../../../src/contract/usage.js';
import { INITIAL_STATE } from '../../../src/core/session-state.js';
import { limitReached } from '../../../src/core/spending.js';
import { LogBuilder } from '../../support/log-builder.js';

const NONE = { tokens: null, costUsd: null };
const usage = (parts: Partial<Usage>): Usage => ({ ...ZERO_USAGE, ...parts });
const spent = (parts: Partial<Usage>, lastCall: Usage | null = null) => ({
  ...INITIAL_STATE,
  usage: usage(parts),
  lastCall,
});
const reached = (
  state: Parameters<typeof limitReached>[0],
  session: { tokens?: number; costUsd?: number },
  price?: Parameters<typeof limitReached>[1]['price'],
) => limitReached(state, { turn: NONE, session: { ...NONE, ...session }, price });

describe('the reserve of a call', () => {
  it('is one token before the first answer', () => {
    expect(reached(spent({}), { tokens: 1 })).toBeNull();
    expect(reached(spent({ inputTokens: 1 }), { tokens: 1 })).toMatchObject({ which: 'tokens', value: 1 });
  });

  it('is all that the last answered call used, but for its reasoning, and one token', () => {
    const last = usage({
      inputTokens: 10,
      cacheReadTokens: 20,
      cacheWriteTokens: 5,
      outputTokens: 4,
      reasoningTokens: 100,
    });
    const state = spent({ inputTokens: 60 }, last);
    expect(reached(state, { tokens: 100 })).toBeNull();
    expect(reached(state, { tokens: 99 })).not.toBeNull();
  });

  it('costs at least what is read from the cache, and one token of the answer', () => {
    const state = spent({ costUsd: 1 }, usage({ inputTokens: 1_000_000 }));
    const price = { input: 2, output: 4_000_000, cacheRead: 0.5 };
    expect(reached(state, { costUsd: 5.5 }, price)).toBeNull();
    expect(reached(state, { costUsd: 5.49 }, price)).toMatchObject({ which: 'cost', value: 5.49 });
    expect(reached(state, { costUsd: 6.99 }, { input: 2, output: 4_000_000 })).not.toBeNull();
  });

  it('costs nothing where the model costs nothing', () => {
    const state = spent({ costUsd: 0 }, usage({ inputTokens: 1000 }));
    expect(reached(state, { costUsd: 0.000001 }, { input: 0, output: 0 })).toBeNull();
  });
});

describe('a limit on cost', () => {
  it('is reached where nobody knows what was spent', () => {
    expect(reached(spent({ costUsd: null }), { costUsd: 1000 })).toMatchObject({ which: 'cost' });
  });
});

describe('limits', () => {
  it('of a turn and of its session are both asked, the turn’s first', () => {
    const builder = new LogBuilder();
    const both = (turn: number, session: number) =>
      limitReached(
        { ...builder.state, usage: usage({ inputTokens: 50 }) },
        { turn: { ...NONE, tokens: turn }, session: { ...NONE, tokens: session }, price: undefined },
      );
    expect(both(100, 100)).toBeNull();
    expect(both(100, 50)).toMatchObject({ value: 50 });
    // The open turn has spent nothing, so that its limit is not reached by what the session spent.
    expect(both(1, 1000)).toBeNull();
  });

  it('that are null are none', () => {
    expect(reached(spent({ inputTokens: 1e12, costUsd: null }), {})).toBeNull();
  });
});
