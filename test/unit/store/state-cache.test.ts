import { describe, expect, it } from 'vitest';
import type { SessionUid } from '../../../src/contract/ids.js';
import { INITIAL_STATE, type SessionState } from '../../../src/core/session-state.js';
import { StateCache } from '../../../src/store/sql/state-cache.js';

const uid = (n: number) => `uid-${n.toString()}` as SessionUid;
const at = (headSeq: number): SessionState => ({ ...INITIAL_STATE, headSeq });

describe('the cache of states', () => {
  it('keeps the newest state of a session, whatever comes late', () => {
    const cache = new StateCache();
    cache.put(uid(1), at(5));
    cache.put(uid(1), at(4));
    expect(cache.get(uid(1))?.headSeq).toBe(5);
    cache.put(uid(1), at(6));
    expect(cache.get(uid(1))?.headSeq).toBe(6);
    expect(cache.get(uid(2))).toBeUndefined();
  });

  it('forgets a session that was dropped', () => {
    const cache = new StateCache();
    cache.put(uid(1), at(5));
    cache.drop(uid(1));
    expect(cache.get(uid(1))).toBeUndefined();
    cache.put(uid(1), at(0));
    expect(cache.get(uid(1))?.headSeq).toBe(0);
  });

  it('is bounded: the session that was used least recently goes first', () => {
    const cache = new StateCache();
    for (let n = 0; n < 1000; n++) cache.put(uid(n), at(n));
    cache.get(uid(0));
    cache.put(uid(1), at(1));
    cache.put(uid(1000), at(0));
    expect(cache.get(uid(0))).toBeDefined();
    expect(cache.get(uid(1))).toBeDefined();
    expect(cache.get(uid(2))).toBeUndefined();
    expect(cache.get(uid(3))).toBeDefined();
    expect(cache.get(uid(1000))).toBeDefined();
  });
});
