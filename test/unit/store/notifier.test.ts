import { expect, it } from 'vitest';
import type { SessionUid } from '../../../src/contract/ids.js';
import { Notifier } from '../../../src/store/notifier.js';

const uid = 'uid' as SessionUid;
const notice = { kind: 'events', uid, afterSeq: 0, headSeq: 1 } as const;

it('says which listener threw, and tells the others', () => {
  const errors: unknown[] = [];
  const told: string[] = [];
  const notifier = new Notifier((error) => errors.push(error));
  const failure = new Error('broken');
  notifier.watch(uid, () => {
    throw failure;
  });
  notifier.watch(uid, () => told.push('of the session'));
  notifier.watch(null, () => told.push('of all'));
  notifier.notify(notice);
  expect(errors).toEqual([failure]);
  expect(told).toEqual(['of the session', 'of all']);
});

it('a watch that has ended ends no other one, however often it is ended', () => {
  const told: string[] = [];
  const notifier = new Notifier(() => undefined);
  const first = notifier.watch(uid, () => told.push('first'));
  first();
  const second = notifier.watch(uid, () => told.push('second'));
  first();
  notifier.notify(notice);
  expect(told).toEqual(['second']);
  second();
  notifier.notify(notice);
  expect(told).toEqual(['second']);
});
