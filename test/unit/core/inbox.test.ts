import { describe, expect, it } from 'vitest';
import type { EventData, EventOf, InboxItem, NewEvent } from '../../../src/contract/events.js';
import type { ItemId, RequestId, SessionId } from '../../../src/contract/ids.js';
import {
  claimInput,
  editItem,
  EMPTY_INBOX,
  evolveInbox,
  findItem,
  inboxWakes,
  moveItem,
  removeItem,
  type Inbox,
} from '../../../src/core/inbox.js';

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

describe('a change of an item that waits', () => {
  const before = inboxOf(['a', 'b'], ['s', 't']);
  const waiting = (inbox: Inbox, name: string) => findItem(inbox, id(name))!;
  const after = (inbox: Inbox, ...events: NewEvent[]) =>
    events.reduce((next, { data }) => splice(next, data as EventData<'agent/inbox/spliced'>, 'later'), inbox);

  it('finds it with its list and its place, and nothing that does not wait', () => {
    expect(findItem(before, id('t'))).toMatchObject({ target: 'next-step', position: 1 });
    expect(findItem(before, id('b'))).toMatchObject({ target: 'next-turn', position: 1 });
    expect(findItem(before, id('x'))).toBeUndefined();
  });

  it('edits its content in its place and nothing else of it', () => {
    const content = [{ type: 'text', text: 'new' } as const];
    const inbox = after(before, editItem(waiting(before, 's'), content));
    expect(names(inbox)).toEqual(names(before));
    expect(inbox.nextStep[0]).toEqual({ ...before.nextStep[0], content, changes: 1 });
  });

  it('has a key of its own each time', () => {
    const edit = (inbox: Inbox) => editItem(waiting(inbox, 'a'), []);
    const first = edit(before);
    expect([first.key, edit(after(before, first)).key]).toEqual(['item/a/1', 'item/a/2']);
    expect(removeItem(waiting(before, 'a')).key).toBe('item/a/1');
  });

  it('moves it behind what waits in the other list, in either direction', () => {
    const steered = after(before, ...moveItem(before, waiting(before, 'a'), 'steer'));
    expect(names(steered)).toEqual({ turn: ['b'], step: ['s', 't', 'a'] });
    const queued = after(steered, ...moveItem(steered, waiting(steered, 's'), 'queue'));
    expect(names(queued)).toEqual({ turn: ['b', 's'], step: ['t', 'a'] });
    expect(queued.nextTurn[1]).toMatchObject({ itemId: 's', at: 'then', changes: 1, wakes: true });
  });

  it('that is where it should be moves nowhere', () => {
    expect(moveItem(before, waiting(before, 's'), 'steer')).toEqual([]);
    expect(moveItem(before, waiting(before, 'a'), 'queue')).toEqual([]);
  });

  it.each([
    ['steer', { turn: ['a'], step: ['i', 's'] }],
    ['queue', { turn: ['a', 'i'], step: ['s'] }],
  ] as const)('makes an injected one wake as a %s', (mode, where) => {
    const injected = splice(inboxOf(['a'], ['s']), {
      target: 'next-step',
      start: 0,
      inserted: [item('i', { wakes: false })],
    });
    const moved = after(injected, ...moveItem(injected, waiting(injected, 'i'), mode));
    expect(names(moved)).toEqual(where);
    expect(waiting(moved, 'i').entry).toMatchObject({ wakes: true, changes: 1 });
  });

  it('removes it, wherever it stands', () => {
    for (const name of ['a', 'b', 's', 't']) {
      const inbox = after(before, removeItem(waiting(before, name)));
      expect(findItem(inbox, id(name))).toBeUndefined();
      expect(inbox.nextTurn.length + inbox.nextStep.length).toBe(3);
    }
  });
});
