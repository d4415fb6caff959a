/**
 * What every session log keeps to, whatever happened to it (EVENTS, order in one turn): a checker for any test that
 * has a log, from a unit test to one that kills processes.
 *
 * It reads the log on its own and uses no fold of `core/`, so that a fault there cannot hide here. The inbox's rules
 * are in `inbox-invariants.ts`.
 */
import type { ToolCallBlock } from '../../src/contract/content.js';
import { SURFACE_EVENT_TYPES, type EventOf, type SessionEvent } from '../../src/contract/events.js';
import type { Message } from '../../src/contract/messages.js';
import { addUsage, ZERO_USAGE, type Usage } from '../../src/contract/usage.js';
import { InboxInvariants } from './inbox-invariants.js';

interface CallTrace {
  readonly block: ToolCallBlock;
  callSeq?: number;
  resultSeq?: number;
  lastReceipt: number;
}

interface StepTrace {
  readonly number: number;
  lastAttempt: number;
  retried: number;
  hasMessage: boolean;
  calls: CallTrace[];
}

interface TurnTrace {
  readonly number: number;
  steps: number;
  usage: Usage;
  output: readonly string[] | 'elsewhere';
  step: StepTrace | undefined;
  mayStep: boolean;
  cancelled: boolean;
}

export interface CheckOptions {
  /** Whether the log's last turn may be under way still. */
  readonly mayRun?: boolean;
}

/**
 * The violations of a whole log, in its order, each naming its event; none for a valid log.
 *
 * Checked are: `seq` contiguous from 0 in one session; each turn with one start and one end, in order, and nothing of
 * it after its end; steps in order inside of it; attempts that grow, none after the message; at most one message a step,
 * before its calls; each call with one `tool/call` and, before the step's end, one `tool/result`, all in the model's
 * order; receipts between the two; approvals and questions asked before the first call and settled once, before the
 * turn ends; input that is claimed only where it waits and shown exactly once; a cancel that makes its turn aborted; and
 * the sums of `turn/end`.
 */
export function checkLog(events: readonly SessionEvent[], options: CheckOptions = {}): string[] {
  const checker = new LogChecker(events.some(({ type }) => type === 'session/repaired'));
  for (const event of events) checker.add(event);
  checker.finish(options.mayRun === true);
  return checker.violations;
}

/**
 * What a strict provider refuses in the messages of a log: a call whose result does not come right after its message,
 * a result without its call, a call id that is used twice.
 */
export function checkMessages(messages: readonly Message[]): string[] {
  const violations: string[] = [];
  const used = new Set<string>();
  let due: string[] = [];
  for (const { seq, role, content } of messages) {
    const where = `message ${seq.toString()}`;
    for (const block of content) {
      if (block.type === 'tool-result') {
        if (due.shift() !== block.callId) violations.push(`${where}: ${block.callId} is not the next result`);
      } else if (due.length > 0 && (role === 'assistant' || block.type !== 'tool-call')) {
        violations.push(`${where}: comes before the results of ${due.join(', ')}`);
        due = [];
      }
    }
    if (role !== 'assistant') continue;
    due = content.flatMap((block) => (block.type === 'tool-call' ? [block.callId as string] : []));
    for (const id of due) {
      if (used.has(id)) violations.push(`${where}: the call id ${id} is used twice`);
      used.add(id);
    }
  }
  if (due.length > 0) violations.push(`the end: the results of ${due.join(', ')} are missing`);
  return violations;
}

class LogChecker {
  readonly violations: string[] = [];
  readonly #inbox: InboxInvariants;
  readonly #callIds = new Set<string>();
  /** Approvals and questions: whether they are still open. */
  readonly #asks = new Map<string, 'open' | 'settled'>();
  #headSeq = -1;
  #sessionId: string | undefined;
  #lastTurn = 0;
  /** Numbers of turns in a part that was cut off. */
  #usedTurns = 0;
  #turn: TurnTrace | undefined;
  #cancelledBeforeStart: number | undefined;
  #where = '';

  constructor(repaired: boolean) {
    this.#inbox = new InboxInvariants(repaired, (what) => {
      this.#say(what);
    });
  }

  add(event: SessionEvent): void {
    this.#where = `seq ${event.seq.toString()} ${event.type}`;
    this.#expect(event.seq === this.#headSeq + 1, `follows seq ${this.#headSeq.toString()}`);
    this.#headSeq = event.seq;
    this.#sessionId ??= event.sessionId;
    this.#expect(event.sessionId === this.#sessionId, 'is of another session');
    this.#expect((event.seq === 0) === (event.type === 'session/created'), 'is not where a session begins');
    const makesMessage = SURFACE_EVENT_TYPES.some((type) => type === event.type);
    this.#expect(makesMessage === (event.surface !== undefined), 'has a wrong surface');
    this.#checkPlace(event);
    this.#checkFact(event);
  }

  finish(mayRun: boolean): void {
    this.#where = 'the end';
    if (this.#turn !== undefined && !mayRun) this.#say(`turn ${this.#turn.number.toString()} has no end`);
  }

  /** One that was due already where the log was cut keeps its number. */
  #isNextTurn(number: number | undefined): boolean {
    return number === this.#lastTurn + 1 || number === Math.max(this.#lastTurn, this.#usedTurns) + 1;
  }

  #say(what: string): void {
    this.violations.push(`${this.#where}: ${what}`);
  }

  #expect(holds: boolean, otherwise: string): void {
    if (!holds) this.#say(otherwise);
  }

  /** An event that names a turn or a step is of the open one. */
  #checkPlace(event: SessionEvent): void {
    if (event.type === 'turn/start' || event.type === 'step/start') return;
    if (event.turn !== undefined && event.turn !== this.#turn?.number) {
      const early =
        event.type === 'turn/cancel-requested' && this.#turn === undefined && this.#isNextTurn(event.turn);
      this.#expect(early, `is of turn ${event.turn.toString()}, which is not open`);
    }
    if (event.step !== undefined) {
      this.#expect(
        event.step === this.#turn?.step?.number,
        `is of step ${event.step.toString()}, which is not open`,
      );
    }
  }

  #checkFact(event: SessionEvent): void {
    switch (event.type) {
      case 'agent/inbox/spliced':
        this.#inbox.splice(event, this.#turn?.number);
        return;
      case 'turn/start':
        this.#turnStart(event);
        return;
      case 'turn/end':
        this.#turnEnd(event);
        return;
      case 'turn/cancel-requested':
        if (this.#turn === undefined) {
          this.#expect(this.#cancelledBeforeStart === undefined, 'is the second of its turn');
          this.#cancelledBeforeStart = event.turn;
        } else {
          this.#expect(!this.#turn.cancelled, 'is the second of its turn');
          this.#turn.cancelled = true;
        }
        return;
      case 'step/start':
        this.#stepStart(event);
        return;
      case 'step/end':
        this.#stepEnd(event);
        return;
      case 'session/repaired':
        this.#usedTurns = Math.max(this.#usedTurns, event.data.usedTurns ?? 0);
        return;
      case 'user/message':
        this.#expect(this.#turn?.step !== undefined, 'is in no step');
        this.#inbox.shown(event);
        return;
      case 'assistant/attempt':
        this.#attempt(event.data.attempt);
        this.#spend(event.data.usage);
        return;
      case 'llm/retry':
        this.#inStep((step) => {
          this.#expect(event.data.attempt === step.lastAttempt, 'is not of the last attempt');
          this.#expect(step.retried < event.data.attempt, 'is the second of its attempt');
          step.retried = event.data.attempt;
        });
        return;
      case 'assistant/message':
        this.#message(event);
        return;
      case 'tool/call':
      case 'tool/started':
      case 'tool/result':
        this.#call(event);
        return;
      case 'approval/asked':
        this.#asked(event.data.approvalId, event.data.callId);
        return;
      case 'question/asked':
        this.#asked(event.data.questionId, event.data.callId);
        return;
      case 'approval/decided':
        this.#settled(event.data.approvalId);
        return;
      case 'question/answered':
        this.#settled(event.data.questionId);
        return;
      default:
    }
  }

  #inStep(check: (step: StepTrace) => void): void {
    const step = this.#turn?.step;
    if (step === undefined) this.#say('is in no step');
    else check(step);
  }

  #turnStart(event: EventOf<'turn/start'>): void {
    const number = event.turn ?? 0;
    this.#expect(this.#turn === undefined, 'comes while a turn is open');
    this.#expect(this.#isNextTurn(number), `is turn ${number.toString()}`);
    this.#turn = {
      number,
      steps: 0,
      usage: ZERO_USAGE,
      output: [],
      step: undefined,
      mayStep: true,
      cancelled: this.#cancelledBeforeStart === number,
    };
    this.#cancelledBeforeStart = undefined;
    this.#inbox.turnStarted(event.data.requestIds);
  }

  #turnEnd({ data }: EventOf<'turn/end'>): void {
    const turn = this.#turn;
    if (turn === undefined) {
      this.#say('ends no open turn');
      return;
    }
    this.#expect(turn.step === undefined, 'comes before the end of its step');
    const open = [...this.#asks].filter(([, state]) => state === 'open').map(([id]) => id);
    this.#expect(open.length === 0, `leaves somebody asked: ${open.join(', ')}`);
    this.#expect(!turn.cancelled || data.reason.kind === 'aborted', 'is cancelled and not aborted');
    this.#expect(data.steps === turn.steps, `counts ${data.steps.toString()} steps`);
    this.#expect(JSON.stringify(data.usage) === JSON.stringify(turn.usage), 'has the wrong usage');
    if (turn.output !== 'elsewhere' && typeof data.output !== 'object') {
      const output = turn.output.length === 0 ? undefined : turn.output.join('');
      this.#expect(data.output === output, 'has the wrong output');
    }
    this.#lastTurn = turn.number;
    this.#turn = undefined;
  }

  #stepStart(event: EventOf<'step/start'>): void {
    const turn = this.#turn;
    const number = event.step ?? 0;
    if (turn?.number !== event.turn || turn === undefined) {
      this.#say('is in no open turn');
      return;
    }
    this.#expect(turn.step === undefined, 'comes before the end of the step before');
    this.#expect(turn.mayStep, 'comes after the last step of its turn');
    this.#expect(number === turn.steps + 1, `is step ${number.toString()}`);
    turn.steps = number;
    turn.step = { number, lastAttempt: 0, retried: 0, hasMessage: false, calls: [] };
    this.#inbox.stepStarted(number);
  }

  #stepEnd(event: EventOf<'step/end'>): void {
    this.#inStep((step) => {
      for (const { block, callSeq, resultSeq } of step.calls) {
        this.#expect(callSeq !== undefined, `${block.callId} has no tool/call`);
        this.#expect(resultSeq !== undefined, `${block.callId} has no tool/result`);
      }
      this.#inbox.stepEnded();
    });
    if (this.#turn === undefined) return;
    this.#turn.step = undefined;
    this.#turn.mayStep = event.data.next === 'step';
  }

  #attempt(attempt: number): void {
    this.#inStep((step) => {
      this.#expect(!step.hasMessage, 'comes after the message of its step');
      this.#expect(attempt > step.lastAttempt, `attempt ${attempt.toString()} is not a later one`);
      step.lastAttempt = attempt;
    });
  }

  #spend(usage: Usage | undefined): void {
    if (usage === undefined || this.#turn === undefined) return;
    this.#turn.usage = addUsage(this.#turn.usage, usage);
  }

  #message({ data }: EventOf<'assistant/message'>): void {
    this.#attempt(data.attempt);
    this.#spend(data.usage);
    const blocks = data.content.filter((block) => block.type === 'tool-call');
    const mayCall = data.finish === 'stop' || data.finish === 'tool-calls';
    this.#expect(mayCall || blocks.length === 0, `is ${data.finish} and keeps calls`);
    for (const { callId } of blocks) {
      this.#expect(!this.#callIds.has(callId), `uses the call id ${callId} again`);
      this.#callIds.add(callId);
    }
    this.#inStep((step) => {
      step.hasMessage = true;
      step.calls = blocks.map((block) => ({ block, lastReceipt: 0 }));
    });
    if (this.#turn === undefined) return;
    this.#turn.output = data.content.some(({ type }) => type === 'blob')
      ? 'elsewhere'
      : data.content.flatMap((block) => (block.type === 'text' ? [block.text] : []));
  }

  #call(event: EventOf<'tool/call'> | EventOf<'tool/started'> | EventOf<'tool/result'>): void {
    const { callId } = event.data;
    const calls = this.#turn?.step?.calls ?? [];
    const index = calls.findIndex(({ block }) => block.callId === callId);
    const call = calls[index];
    if (call === undefined) {
      this.#say(`${callId} is no call of the step's message`);
      return;
    }
    const before = calls[index - 1];
    switch (event.type) {
      case 'tool/call':
        this.#expect(call.callSeq === undefined, `${callId} is called twice`);
        this.#expect(index === 0 || before?.callSeq !== undefined, `${callId} is not the next call`);
        this.#expect(
          event.data.index === index &&
            event.data.name === call.block.name &&
            JSON.stringify(event.data.arguments) === JSON.stringify(call.block.arguments),
          `${callId} is not as its message has it`,
        );
        call.callSeq = event.seq;
        return;
      case 'tool/started':
        this.#expect(call.callSeq !== undefined, `${callId} has not been called`);
        this.#expect(call.resultSeq === undefined, `${callId} has its result`);
        this.#expect(event.data.attempt > call.lastReceipt, `${callId} has a receipt of a later attempt`);
        call.lastReceipt = event.data.attempt;
        return;
      case 'tool/result':
        this.#expect(call.callSeq !== undefined, `${callId} has not been called`);
        this.#expect(call.resultSeq === undefined, `${callId} has a second result`);
        this.#expect(index === 0 || before?.resultSeq !== undefined, `${callId} is not the next result`);
        this.#expect(event.sources?.includes(call.callSeq ?? -1) === true, `${callId} names another source`);
        call.resultSeq = event.seq;
    }
  }

  #asked(id: string, callId: string): void {
    this.#expect(!this.#asks.has(id), `${id} is asked twice`);
    this.#asks.set(id, 'open');
    this.#inStep(({ calls }) => {
      this.#expect(
        calls.some(({ block }) => block.callId === callId),
        `${callId} is no call of the step's message`,
      );
      this.#expect(
        calls.every(({ callSeq }) => callSeq === undefined),
        'comes after the first tool/call of its step',
      );
    });
  }

  #settled(id: string): void {
    const state = this.#asks.get(id);
    this.#expect(state !== undefined, `${id} was not asked`);
    this.#expect(state !== 'settled', `${id} is settled twice`);
    this.#asks.set(id, 'settled');
  }
}
