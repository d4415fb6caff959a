/** Random valid logs: sessions in which much happens, the same ones for the same random numbers. */
import { eventKeys } from '../../src/contract/event-keys.js';
import type { InboxItem, PromptMode } from '../../src/contract/events.js';
import type { InboxEntry } from '../../src/core/inbox.js';
import { abortReason } from '../../src/core/turn-progress.js';
import { LogBuilder, someRequest, someResult } from './log-builder.js';

const MAX_STEPS = 4;

/** A session of up to `turns` turns, none of them open at its end. */
export function randomLog(random: () => number, turns = 4): LogBuilder {
  const log = new LogBuilder();
  const dice = new Dice(random);
  for (let turn = 0; turn < turns; turn++) {
    aside(log, dice);
    if (log.state.openTurn === null) log.prompt(dice.pick(['queue', 'queue', 'steer']));
    if (dice.chance(0.1)) log.cancel();
    log.enter(request(dice));
    if (log.turn.cancel === null) goOn(log, dice);
    else log.end(abortReason(log.turn.cancel));
  }
  while (log.state.openTurn !== null) log.enter().message().end();
  return log;
}

class Dice {
  constructor(private readonly random: () => number) {}
  chance(probability: number): boolean {
    return this.random() < probability;
  }
  below(end: number): number {
    return Math.floor(this.random() * end);
  }
  pick<T>(values: readonly T[]): T {
    return values[this.below(values.length)] as T;
  }
}

function request(dice: Dice) {
  return someRequest({
    system: dice.pick(['You help.', 'You help.', 'You help more.']),
    context: dice.pick(['It is Monday.', 'It is Monday.', 'It is Tuesday.']),
    contextWindow: dice.pick([32_000, 32_000, 64_000]),
  });
}

/** The open turn from its first step to its end. */
function goOn(log: LogBuilder, dice: Dice): void {
  const turn = log.turn.number;
  while (log.state.openTurn?.number === turn) {
    if (dice.chance(0.3)) aside(log, dice);
    if (!modelStep(log, dice)) return;
    if (dice.chance(0.1)) {
      stop(log, dice);
      return;
    }
    toolStep(log, dice);
    if (log.turn.cancel !== null) {
      stop(log, dice);
      return;
    }
    log.advance({ steps: MAX_STEPS, wallTimeMs: null, tokens: null, costUsd: null });
  }
}

/** Whether the model answered; where it did not, the turn has ended. */
function modelStep(log: LogBuilder, dice: Dice): boolean {
  while (dice.chance(0.3)) {
    log.failedAttempt(dice.pick(['failed', 'failed', 'lost']));
    if (dice.chance(0.5)) log.retry();
    if (dice.chance(0.3)) aside(log, dice);
  }
  if (dice.chance(0.1)) {
    stop(log, dice);
    return false;
  }
  if (dice.chance(0.1)) log.message([], { finish: 'max-tokens' });
  else log.message(Array.from({ length: dice.below(4) }, () => dice.pick(['read', 'bash', 'write'])));
  return true;
}

function stop(log: LogBuilder, dice: Dice): void {
  if (log.turn.cancel === null && dice.chance(0.5)) log.cancel();
  if (log.turn.cancel !== null) log.end(abortReason(log.turn.cancel));
  else log.end({ kind: 'error', code: 'SERVER', message: 'The provider is gone.' });
}

/** Some of the step's calls as far as they come: asked, decided, started, done; the others are left open. */
function toolStep(log: LogBuilder, dice: Dice): void {
  const { step } = log.place;
  const asked = step.calls.map(({ index }) => {
    if (dice.chance(0.3)) return { approval: log.ask(index) };
    return dice.chance(0.2) ? { question: log.question(index) } : {};
  });
  for (const { index } of step.calls) {
    const waits = asked[index];
    if (dice.chance(0.2)) aside(log, dice);
    if (dice.chance(0.1)) {
      log.cancel();
      return;
    }
    if (waits?.approval !== undefined) {
      if (dice.chance(0.2)) {
        unfinished(log, dice);
        return;
      }
      log.decide(waits.approval, dice.pick(['allowed', 'denied', 'expired']));
    }
    if (waits?.question !== undefined) log.answer(waits.question);
    log.start(index);
    if (dice.chance(0.6)) log.receipt(index);
    if (dice.chance(0.2)) log.receipt(index);
    if (dice.chance(0.3)) log.commit(() => someResult(), index + 1);
    if (dice.chance(0.3)) aside(log, dice);
  }
  log.commit((index) => someResult(`result ${index.toString()}`, { contexts: contexts(dice) }));
}

function contexts(dice: Dice) {
  return dice.chance(0.3) ? [[{ type: 'text', text: 'By the way.' } as const]] : [];
}

/** The turn is given up in the middle of its calls. */
function unfinished(log: LogBuilder, dice: Dice): void {
  const turn = log.turn.number;
  if (!dice.chance(0.5)) log.cancel();
  else {
    log.append(
      log.state.approvals.map(({ approvalId }) => ({
        type: 'approval/decided' as const,
        key: eventKeys.approvalDecided(approvalId),
        data: { approvalId, outcome: 'unavailable' as const, by: 'turnkeeper' },
      })),
    );
    for (const { index, callSeq } of log.place.step.calls) if (callSeq === null) log.start(index);
    log.commit();
    for (const question of log.state.questions) log.answer(question);
  }
  if (log.state.openTurn?.number !== turn) throw new Error('The turn has gone on by itself.');
}

/** Things that happen at any time, whatever the turn does. */
function aside(log: LogBuilder, dice: Dice): void {
  switch (dice.below(9)) {
    case 0:
    case 1:
      log.prompt(
        dice.pick<PromptMode>(['queue', 'steer', 'inject']),
        `Prompt ${log.events.length.toString()}`,
      );
      if (dice.chance(0.4)) changeItem(log, dice);
      return;
    case 2:
    case 7:
    case 8:
      changeItem(log, dice);
      return;
    case 3:
      log.append([{ type: 'session/title', data: { title: 'A title', source: 'model' } }]);
      return;
    case 4:
      log.append([
        { type: 'session/settings', data: { changes: { model: dice.pick(['a', 'b']) }, by: 'ann' } },
      ]);
      return;
    case 5:
      log.append([{ type: 'approval/policy', data: { permission: 'read-only', source: 'ann' } }]);
      return;
    default:
      log.append([{ type: 'todo/write', data: { todos: [{ content: 'Write.', status: 'pending' }] } }]);
  }
}

/** An item that waits is edited, moved to the front or the other list, or removed. */
function changeItem(log: LogBuilder, dice: Dice): void {
  const { nextTurn, nextStep } = log.state.inbox;
  // What a turn was opened for stays until it is entered, so that the turn has its input.
  const due = log.state.openTurn?.started === false;
  const free = due
    ? [...nextTurn.slice(1), ...nextStep.filter(({ wakes }) => !wakes)]
    : [...nextTurn, ...nextStep];
  const entry = free.length === 0 ? undefined : dice.pick(free);
  if (entry === undefined) return;
  const target = nextTurn.includes(entry) ? 'next-turn' : 'next-step';
  const key = eventKeys.item(entry.itemId, entry.changes + 1);
  const item = itemOf(entry);
  const type = 'agent/inbox/spliced';
  const removed = [entry.itemId];
  switch (dice.below(3)) {
    case 0: {
      const list = target === 'next-turn' ? nextTurn : nextStep;
      const content = [{ type: 'text', text: 'Edited.' } as const];
      const inserted = [{ ...item, content }];
      log.append([
        { type, key, data: { target, start: list.indexOf(entry), removed, inserted, outcome: 'edited' } },
      ]);
      return;
    }
    case 1: {
      const other = target === 'next-turn' ? 'next-step' : 'next-turn';
      const start = other === 'next-turn' ? nextTurn.length : nextStep.length;
      const inserted = [{ ...item, wakes: true }];
      log.append([{ type, key, data: { target: other, start, inserted, outcome: 'moved' } }]);
      return;
    }
    default:
      log.append([{ type, key, data: { target, start: 0, removed, outcome: 'canceled' } }]);
  }
}

function itemOf({ itemId, requestId, content, source, wakes }: InboxEntry): InboxItem {
  return { itemId, requestId, content, source, wakes };
}
