import { expect, it } from 'vitest';
import { turnLimits } from '../../../src/core/turn-limits.js';

const base = { steps: 10, wallTimeMs: 1000, tokens: 500, costUsd: 2 };

it('a session without limits of its own has those of its profile', () => {
  expect(turnLimits(base)).toEqual(base);
  expect(turnLimits(base, {})).toEqual(base);
});

it('what a session sets wins, and null lifts a limit', () => {
  expect(turnLimits(base, { steps: 99, tokens: null })).toEqual({
    steps: 99,
    wallTimeMs: 1000,
    tokens: null,
    costUsd: 2,
  });
  expect(turnLimits(base, { wallTimeMs: null, costUsd: null })).toEqual({
    steps: 10,
    wallTimeMs: null,
    tokens: 500,
    costUsd: null,
  });
});
