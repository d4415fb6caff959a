import { describe, expect, it } from 'vitest';
import { editDistance, nearestName } from '../../../../src/runtime/configuration/nearest-name.js';

describe('nearestName', () => {
  it.each([
    ['', '', 0],
    ['port', '', 4],
    ['port', 'prot', 1],
    ['Port', 'port', 0],
    ['kitten', 'sitting', 3],
  ])('%j and %j are %i edits apart', (one, other, distance) => {
    expect(editDistance(one, other)).toBe(distance);
    expect(editDistance(other, one)).toBe(distance);
  });

  it('finds the name that was meant, and none where none is near', () => {
    expect(nearestName('adress', ['namespace', 'address'])).toBe('address');
    expect(nearestName('sandbox', ['tools', 'rules', 'limits'])).toBeUndefined();
    expect(nearestName('xy', ['ab'])).toBeUndefined();
  });
});
