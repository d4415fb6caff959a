import { describe, expect, it } from 'vitest';
import type { EventData, EventOf, InboxItem } from '../../../src/contract/events.js';
import type { ItemId, RequestId, SessionId } from '../../../src/contract/ids.js';
import { claimInput, EMPTY_INBOX, evolveInbox, inboxWakes, type Inbox } from '../../../src/core/inbox.js';

let seq = 0;
function splice(inbox: Inbox, data: EventData<'agent/inbox/spliced'>, at = 'then'): Inbox {
  const event: EventOf<'agent/inbox/spliced'> = {
    sessionId: 's' as SessionId,
    seq: seq++,
    type: 'agent/inbox/spliced',
    at,
    data,
  };
  return evolveInbox(inbox, event);
}

const id = (name: string) => name as ItemId;
function item(name: string, changes: Partial<InboxItem> = {}): InboxItem {
  const requestId = `r-${name}` as RequestId;
  const content = [{ type: 'text', text: name } as const];
  return {
    itemId: id(name),
    requestId,
    content,
    source: { kind: 'user', requestId },
    wakes: true,
    ...changes,
  };
}
const names = (inbox: Inbox) => ({
  turn: inbox.nextTurn.map(({ itemId }) => itemId),
  step: inbox.nextStep.map(({ itemId }) => itemId),
});

/** An inbox with these items in both lists. */
function inboxOf(turn: string[], step: string[] = []): Inbox {
  const inbox = splice(EMPTY_INBOX, {
    target: 'next-turn',
    start: 0,
    inserted: turn.map((name) => item(name)),
  });
  return splice(inbox, { target: 'next-step', start: 0, inserted: step.map((name) => item(name)) });
}

describe('a splice', () => {
  it('inserts where it says, in its list, and leaves the other one alone', () => {
    const inbox = splice(inboxOf(['a', 'c'], ['s']), {
      target: 'next-turn',
      start: 1,
      inserted: [item('b1'), item('b2')],
    });
    expect(names(inbox)).toEqual({ turn: ['a', 'b1', 'b2', 'c'], step: ['s'] });
  });

  it('inserts in front, where an interrupting prompt goes', () => {
    const inbox = splice(inboxOf(['a']), { target: 'next-turn', start: 0, inserted: [item('first')] });
    expect(names(inbox).turn).toEqual(['first', 'a']);
  });

  it('removes what it names, wherever that stands in its list', () => {
    const removed = [id('c'), id('a')];
    const inbox = splice(inboxOf(['a', 'b', 'c']), {
      target: 'next-turn',
      start: 0,
      removed,
      outcome: 'canceled',
    });
    expect(names(inbox).turn).toEqual(['b']);
  });

  it('edits an item in its place: it keeps its id and the time at which it came', () => {
    const before = splice(EMPTY_INBOX, { target: 'next-turn', start: 0, inserted: [item('a')] }, 'morning');
    const content = [{ type: 'text', text: 'edited' } as const];
    const edit = (inbox: Inbox) =>
      splice(
        inbox,
        {
          target: 'next-turn',
          start: 0,
          removed: [id('a')],
          inserted: [item('a', { content })],
          outcome: 'edited',
        },
        'noon',
      );
    const once = edit(before);
    expect(once.nextTurn).toEqual([{ ...item('a', { content }), at: 'morning', changes: 1 }]);
    expect(edit(once).nextTurn[0]?.changes).toBe(2);
  });

  it('moves an item to the other list by one event, in either direction, with its id and its time', () => {
    const before = splice(inboxOf(['a'], ['s']), { target: 'next-turn', start: 1, inserted: [item('b')] });
    const moved = splice(before, {
      target: 'next-step',
      start: 1,
      inserted: [item('b')],
      outcome: 'moved',
    });
    expect(names(moved)).toEqual({ turn: ['a'], step: ['s', 'b'] });
    expect(moved.nextStep[1]).toMatchObject({ itemId: 'b', at: 'then', changes: 1 });
    const back = splice(moved, { target: 'next-turn', start: 0, inserted: [item('b')], outcome: 'moved' });
    expect(names(back)).toEqual({ turn: ['b', 'a'], step: ['s'] });
  });

  it('leaves the inbox before it as it was', () => {
    const before = inboxOf(['a', 'b']);
    splice(before, { target: 'next-turn', start: 0, removed: [id('a')], outcome: 'claimed' });
    expect(names(before).turn).toEqual(['a', 'b']);
  });
});

describe('a claim', () => {
  it('takes all of next-step and then one of next-turn where it opens its turn', () => {
    const claim = claimInput(inboxOf(['a', 'b'], ['s1', 's2']), 3, 1);
    expect(claim.entries.map(({ itemId }) => itemId)).toEqual(['s1', 's2', 'a']);
    expect(claim.events).toEqual([
      {
        type: 'agent/inbox/spliced',
        key: 'claim/3.1/next-step',
        turn: 3,
        data: { target: 'next-step', start: 0, removed: ['s1', 's2'], outcome: 'claimed' },
      },
      {
        type: 'agent/inbox/spliced',
        key: 'claim/3.1/next-turn',
        turn: 3,
        data: { target: 'next-turn', start: 0, removed: ['a'], outcome: 'claimed' },
      },
    ]);
  });

  it('takes nothing of next-turn at a later step', () => {
    const claim = claimInput(inboxOf(['a'], ['s']), 3, 2);
    expect(claim.entries.map(({ itemId }) => itemId)).toEqual(['s']);
    expect(claim.events.map(({ key }) => key)).toEqual(['claim/3.2/next-step']);
  });

  it('says nothing where there is nothing to take', () => {
    expect(claimInput(EMPTY_INBOX, 1, 1)).toEqual({ entries: [], events: [] });
    expect(claimInput(inboxOf(['a']), 1, 2)).toEqual({ entries: [], events: [] });
  });

  it('leaves exactly what it did not take', () => {
    const before = inboxOf(['a', 'b'], ['s']);
    const after = claimInput(before, 1, 1).events.reduce(
      (inbox, event) => splice(inbox, event.data as EventData<'agent/inbox/spliced'>),
      before,
    );
    expect(names(after)).toEqual({ turn: ['b'], step: [] });
  });
});

describe('an idle session', () => {
  const injected = [item('i', { wakes: false })];
  it('is woken by a queued prompt and by a steer', () => {
    expect(inboxWakes(inboxOf(['a']))).toBe(true);
    expect(inboxWakes(inboxOf([], ['s']))).toBe(true);
  });

  it('is not woken by an empty inbox, nor by what was only injected', () => {
    expect(inboxWakes(EMPTY_INBOX)).toBe(false);
    expect(inboxWakes(splice(EMPTY_INBOX, { target: 'next-step', start: 0, inserted: injected }))).toBe(
      false,
    );
  });

  it('is woken by a prompt behind an injected one', () => {
    const inbox = splice(inboxOf([], ['s']), { target: 'next-step', start: 0, inserted: injected });
    expect(inboxWakes(inbox)).toBe(true);
  });
});
