import { describe, expect, it } from 'vitest';
import { chooseModel, usualModelOf } from '../../../src/core/model-choice.js';

const BASE = { provider: 'a', model: 'a-1' };
const USUAL: Readonly<Record<string, string>> = { a: 'a-1', b: 'b-1' };
const choose = (...layers: Parameters<typeof chooseModel>[1]) =>
  chooseModel(BASE, layers, (provider) => USUAL[provider]);

describe('the choice of a model', () => {
  it('is the base where no layer chose', () => {
    expect(choose(undefined, {})).toEqual(BASE);
  });

  it('takes the last layer that names a part', () => {
    expect(choose({ model: 'a-2' }, {})).toEqual({ provider: 'a', model: 'a-2' });
    expect(choose({ provider: 'b', model: 'b-2' }, { model: 'b-3' })).toEqual({
      provider: 'b',
      model: 'b-3',
    });
  });

  it('never takes a model from a layer with another provider', () => {
    expect(choose({ model: 'a-2' }, { provider: 'b' })).toEqual({ provider: 'b', model: 'b-1' });
    expect(choose({ provider: 'c' })).toEqual({ provider: 'c', model: undefined });
  });

  it('keeps the model where the same provider is named again', () => {
    expect(choose({ model: 'a-2' }, { provider: 'a' })).toEqual({ provider: 'a', model: 'a-2' });
  });
});

describe('the usual model of a provider', () => {
  it('is that of the first choice with it, else the only one that it lists', () => {
    expect(usualModelOf('a', [undefined, BASE], ['a-0', 'a-1'])).toBe('a-1');
    expect(usualModelOf('b', [BASE], ['b-1'])).toBe('b-1');
    expect(usualModelOf('b', [BASE], ['b-1', 'b-2'])).toBeUndefined();
    expect(usualModelOf('b', [BASE], [])).toBeUndefined();
  });
});
