/** That chaos sees what it looks for: each promise is broken here by hand. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { checkSession, emptyTally, type Tally } from '../../../chaos/checks.js';
import type { AcceptedPrompt, ChaosSession } from '../../../chaos/workload.js';
import type { FollowItem } from '../../../src/client/follow.js';
import type { SessionEvent } from '../../../src/contract/events.js';
import type { CallId, MessageId } from '../../../src/contract/ids.js';
import { LogBuilder } from '../../support/log-builder.js';

let workspace: string;
beforeEach(() => {
  workspace = mkdtempSync(join(tmpdir(), 'turnkeeper-checks-'));
});
afterEach(() => {
  rmSync(workspace, { recursive: true });
});

const EFFECT = 'effect-1';

interface Whole {
  readonly events: readonly SessionEvent[];
  readonly accepted: readonly AcceptedPrompt[];
  readonly approvalId: string;
}

/** A session with one prompt, one approved call that has an effect, and its end. */
function whole(): Whole {
  const log = new LogBuilder();
  const itemId = log.prompt();
  log.enter().message([], {
    content: [
      { type: 'text', text: 'I write it down.' },
      {
        type: 'tool-call',
        callId: 'call-effect' as CallId,
        name: 'bash',
        arguments: JSON.stringify({ command: `echo ${EFFECT} >> effects.log` }),
      },
    ],
    finish: 'tool-calls',
    messageId: 'message-1' as MessageId,
  });
  const approvalId = log.ask(0);
  log.decide(approvalId).start(0).receipt(0).commit();
  log.nextStep().message().end();
  const accepted = [{ requestId: `request-${itemId.slice(-6)}`, itemId, mode: 'queue' as const }];
  return { events: log.events, accepted, approvalId };
}

const shownOf = (events: readonly SessionEvent[]): FollowItem[] =>
  events.map((event) => ({ type: 'event', id: String(event.seq), event }));

function check(
  { events, accepted, approvalId }: Whole,
  changes: Partial<ChaosSession> = {},
  effects = [EFFECT],
): Tally {
  writeFileSync(join(workspace, 'effects.log'), effects.map((line) => `${line}\n`).join(''));
  const tally = emptyTally();
  const decisions = new Map([[approvalId, 'allow' as const]]);
  const session = { id: 's', accepted, decisions, shown: shownOf(events), ...changes };
  checkSession(tally, session, events, workspace);
  return tally;
}

/** The log with one event changed, as the store would have to have written it. */
const changed = (log: Whole, type: SessionEvent['type'], data: object): Whole => ({
  ...log,
  events: log.events.map((event) =>
    event.type === type ? ({ ...event, data: { ...event.data, ...data } } as SessionEvent) : event,
  ),
});

describe('the checks of chaos', () => {
  it('have nothing against a whole session, and count it', () => {
    const tally = check(whole());
    expect(tally.violations).toEqual([]);
    expect(tally).toMatchObject({ turns: 1, steps: 2, tools: 1, prompts: 1, approvals: 1 });
  });

  it('see a prompt that was accepted and is not in the log, or in no turn', () => {
    const log = whole();
    const lost = { requestId: 'other', itemId: 'item', mode: 'queue' as const };
    const tally = check(log, { accepted: [...log.accepted, lost] });
    expect(tally).toMatchObject({ promptsLost: 1 });
    const waiting = new LogBuilder();
    const itemId = waiting.prompt();
    const accepted = [{ requestId: `request-${itemId.slice(-6)}`, itemId, mode: 'queue' as const }];
    expect(check({ ...log, events: waiting.events, accepted }, { decisions: new Map() })).toMatchObject({
      promptsLost: 1,
      violations: [expect.stringContaining('no turn has taken it')],
    });
  });

  it('see two answers to one prompt', () => {
    const log = whole();
    const [first] = log.accepted;
    const again = { requestId: first?.requestId ?? '', itemId: 'another', mode: 'queue' as const };
    expect(check(log, { accepted: [...log.accepted, again] }).violations).toEqual([
      expect.stringContaining('was accepted as another'),
    ]);
  });

  it('see an answer of a person that does not stand', () => {
    const log = whole();
    const tally = check(log, { decisions: new Map([[log.approvalId, 'deny']]) });
    expect(tally.violations).toEqual([expect.stringContaining('was answered denied and stands as allowed')]);
  });

  it('see an effect that happened twice, one that did not, and one that was told not to have', () => {
    expect(check(whole(), {}, [EFFECT, EFFECT])).toMatchObject({
      effectsDoubled: 1,
      violations: [expect.stringContaining('happened 2 times')],
    });
    expect(check(whole(), {}, []).violations).toEqual([
      expect.stringContaining('is told as done and did not happen'),
    ]);
    const denied = changed(whole(), 'tool/result', {
      isError: true,
      error: { code: 'DENIED', message: 'no' },
    });
    expect(check(denied).violations).toEqual([expect.stringContaining('its result says DENIED')]);
  });

  it('see a follower that has something twice, not at all, or other than it is stored', () => {
    const log = whole();
    const shown = shownOf(log.events);
    const twice = [...shown.slice(0, 4), ...shown.slice(3)];
    expect(check(log, { shown: twice }).violations).not.toEqual([]);
    expect(check(log, { shown: shown.slice(0, -1) }).violations).toContainEqual(
      expect.stringContaining(`has ${String(shown.length - 1)} of ${String(shown.length)} events`),
    );
    const other = changed(log, 'assistant/message', { content: [{ type: 'text', text: 'Something else.' }] });
    expect(check(log, { shown: shownOf(other.events) })).toMatchObject({ textsShownTwice: 1 });
  });

  it('see a log that breaks a rule', () => {
    const log = whole();
    const events = log.events.filter(({ type }) => type !== 'tool/result');
    expect(check({ ...log, events }).violations).not.toEqual([]);
  });
});
