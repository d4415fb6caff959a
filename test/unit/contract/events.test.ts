import { describe, expect, it } from 'vitest';
import { EVENT_SCHEMAS, isEventType, type EventType } from '../../../src/contract/events.js';
import { turnEndReasonSchema } from '../../../src/contract/turn-end.js';
import { EVENT_SAMPLES, OPTIONAL_FIELDS } from './event-samples.js';

/** The catalogue of EVENTS, but for what it marks as coming later. */
const CATALOGUE = [
  'turn/start',
  'turn/end',
  'step/start',
  'step/end',
  'turn/cancel-requested',
  'agent/inbox/spliced',
  'user/message',
  'system/message',
  'request/header',
  'request/context',
  'assistant/message',
  'assistant/attempt',
  'llm/retry',
  'tool/call',
  'tool/started',
  'tool/result',
  'approval/asked',
  'approval/decided',
  'question/asked',
  'question/answered',
  'approval/policy',
  'todo/write',
  'session/created',
  'session/settings',
  'session/title',
  'session/forked',
  'session/repaired',
] as const satisfies readonly EventType[];

const accepts = (type: EventType, data: unknown) => EVENT_SCHEMAS[type].safeParse(data).success;

describe('the catalogue of events', () => {
  it('has a schema for each of its types', () => {
    expect(CATALOGUE.filter((type) => !isEventType(type))).toEqual([]);
  });

  it('knows no type that every object has, and none that is not in it', () => {
    for (const type of ['constructor', '__proto__', 'toString', '', 'turn/Start']) {
      expect(isEventType(type)).toBe(false);
    }
  });
});

describe.each(Object.entries(EVENT_SAMPLES) as [EventType, Record<string, unknown>][])(
  '%s',
  (type, sample) => {
    const optional = OPTIONAL_FIELDS[type] ?? [];

    it('keeps every field of its data, through JSON too', () => {
      const parsed = EVENT_SCHEMAS[type].parse(sample);
      expect(parsed).toEqual(sample);
      expect(JSON.parse(JSON.stringify(parsed))).toEqual(sample);
    });

    it('needs each field that it does not mark as optional', () => {
      for (const field of Object.keys(sample)) {
        const rest = Object.fromEntries(Object.entries(sample).filter(([name]) => name !== field));
        expect(accepts(type, rest), field).toBe(optional.includes(field));
      }
    });

    it('takes no field that it does not know, and no other shape', () => {
      expect(accepts(type, { ...sample, another: 1 })).toBe(false);
      for (const other of [null, [], 'x', 1, undefined]) expect(accepts(type, other)).toBe(false);
    });

    it('takes no null in the place of a field', () => {
      for (const field of Object.keys(sample)) {
        // Without an answer a question is withdrawn or has expired; the value of an output may be any JSON.
        const mayBeNull = ['question/answered answers', 'turn/end structured'].includes(`${type} ${field}`);
        expect(accepts(type, { ...sample, [field]: null }), field).toBe(mayBeNull);
      }
    });
  },
);

describe('the end of a turn', () => {
  const reasons = [
    { kind: 'completed' },
    { kind: 'aborted', cause: 'user', by: 'ann' },
    { kind: 'aborted', cause: 'parent', by: 'x' },
    { kind: 'aborted', cause: 'shutdown', by: 'x' },
    { kind: 'aborted', cause: 'operator', by: 'x' },
    { kind: 'blocked', hook: 'h', note: 'n' },
    { kind: 'error', code: 'SERVER', message: 'm', status: 500, providerRequestId: 'p' },
    { kind: 'error', code: 'SERVER', message: 'm' },
    { kind: 'max-tokens' },
    { kind: 'limit', which: 'steps', value: 1 },
    { kind: 'limit', which: 'time', value: 1 },
    { kind: 'limit', which: 'tokens', value: 1 },
    { kind: 'limit', which: 'cost', value: 0.5 },
    { kind: 'interrupted', note: 'n' },
  ];
  it.each(reasons)('may be %j', (reason) => {
    expect(turnEndReasonSchema.parse(reason)).toEqual(reason);
  });

  it.each([
    { kind: 'stopped' },
    { kind: 'aborted' },
    { kind: 'aborted', cause: 'mood', by: 'x' },
    { kind: 'limit', which: 'patience', value: 1 },
    { kind: 'interrupted' },
    { kind: 'completed', note: 'n' },
    {},
  ])('may not be %j', (reason) => {
    expect(turnEndReasonSchema.safeParse(reason).success).toBe(false);
  });
});
