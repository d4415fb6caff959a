import { describe, expect, it } from 'vitest';
import {
  requestIdSchema,
  sessionIdSchema,
  sessionUidSchema,
  sha256Schema,
  turnWorkflowId,
  type SessionUid,
} from '../../../src/contract/ids.js';

const fits = (schema: { safeParse(value: unknown): { success: boolean } }, value: unknown) =>
  schema.safeParse(value).success;

describe('a session id', () => {
  it.each(['a', '0', 'A.b_c-d', 'a'.repeat(128), '01900000-0000-7000-8000-000000000000'])(
    'may be %s',
    (id) => {
      expect(fits(sessionIdSchema, id)).toBe(true);
    },
  );
  it.each(['', '.a', '-a', '_a', 'a/b', 'a b', 'a\n', 'ä', 'a'.repeat(129), '../a', 'a\0', 'a%2fb'])(
    'may not be %j',
    (id) => {
      expect(fits(sessionIdSchema, id)).toBe(false);
    },
  );
});

describe('a request id', () => {
  it.each(['a', '!', '~', 'a/b:c', 'x'.repeat(256)])('may be %s', (id) => {
    expect(fits(requestIdSchema, id)).toBe(true);
  });
  it.each(['', ' ', 'a b', 'a\n', 'ä', '\u007f', 'x'.repeat(257)])('may not be %j', (id) => {
    expect(fits(requestIdSchema, id)).toBe(false);
  });
});

it('a digest is 64 lower-case hexadecimal digits', () => {
  expect(fits(sha256Schema, 'a0'.repeat(32))).toBe(true);
  for (const other of ['A0'.repeat(32), 'a0'.repeat(31), 'g0'.repeat(32), `${'a0'.repeat(32)}\n`]) {
    expect(fits(sha256Schema, other)).toBe(false);
  }
});

it('a uid is a UUID', () => {
  expect(fits(sessionUidSchema, '01900000-0000-7000-8000-000000000000')).toBe(true);
  expect(fits(sessionUidSchema, 'session')).toBe(false);
});

it('the workflow of a turn is named by the uid and the turn, with the deployment in front where there is one', () => {
  const uid = '01900000-0000-7000-8000-000000000000' as SessionUid;
  expect(turnWorkflowId('', uid, 3)).toBe(`turn/${uid}/3`);
  expect(turnWorkflowId('blue', uid, 3)).toBe(`blue/turn/${uid}/3`);
});
