import { expect, it } from 'vitest';
import type { SessionEvent } from '../../../../src/contract/events.js';
import type { SessionId } from '../../../../src/contract/ids.js';
import { observeEvents } from '../../../../src/runtime/extensions/event-observers.js';

const event = (seq: number): SessionEvent => ({
  sessionId: 's1' as SessionId,
  seq,
  at: '2026-01-01T00:00:00.000Z',
  type: 'step/start',
  data: {},
});

it('tells each observer in the order of the log, also after a failure, and none waits for another', async () => {
  const warnings: unknown[] = [];
  const seen: number[] = [];
  let release = () => {};
  const held = new Promise<void>((resolve) => (release = resolve));
  await observeEvents(
    [
      { name: 'held', run: () => held },
      {
        name: 'picky',
        run: ({ seq }) => {
          if (seq === 1) throw new Error('not this one');
          seen.push(seq);
          if (seq === 2) release();
        },
      },
    ],
    [event(0), event(1), event(2)],
    { warn: (fields: unknown) => void warnings.push(fields) },
  );
  expect(seen).toEqual([0, 2]);
  expect(warnings).toMatchObject([{ seq: 1, err: { message: 'The hook picky failed: not this one' } }]);
});
