/** What every log keeps to about its input: the part of `log-invariants.ts` that follows prompts. */
import type { EventOf, InboxItem, InboxTarget } from '../../src/contract/events.js';

/** Follows each item from its admission to the message that shows it. */
export class InboxInvariants {
  readonly #waiting = new Map<string, { readonly target: InboxTarget; readonly requestId: string }>();
  readonly #known = new Set<string>();
  /** Request ids that were claimed, and what became of them. */
  readonly #claimed = new Map<string, 'to be shown' | 'shown'>();
  #claimedNow: string[] = [];
  #promised: readonly string[] | undefined;
  #toShow: string[] = [];
  /** Whether the open turn may still take its own prompt, which is exactly one. */
  #takesPrompt = false;

  /**
   * @param repaired whether the log was cut at some place: there, input may have been claimed without being shown.
   * @param say takes a violation.
   */
  constructor(
    private readonly repaired: boolean,
    private readonly say: (what: string) => void,
  ) {}

  splice({ data, turn }: EventOf<'agent/inbox/spliced'>, openTurn: number | undefined): void {
    const { target, removed = [], inserted = [], outcome } = data;
    if (outcome === 'claimed') {
      if (openTurn === undefined || turn !== openTurn) this.say('claims for a turn that is not open');
      if (inserted.length > 0) this.say('claims and inserts');
      for (const itemId of removed) this.#claim(itemId, target);
      return;
    }
    for (const itemId of removed) {
      if (this.#waiting.get(itemId)?.target !== target) this.say(`item ${itemId} does not wait in ${target}`);
      if (outcome === 'canceled') this.#waiting.delete(itemId);
    }
    for (const item of inserted) this.#insert(item, target, outcome === 'edited' || outcome === 'moved');
  }

  #insert({ itemId, requestId }: InboxItem, target: InboxTarget, again: boolean): void {
    if (again && !this.#waiting.has(itemId)) this.say(`item ${itemId} is changed and does not wait`);
    if (!again && (this.#known.has(itemId) || this.#known.has(requestId))) {
      this.say(`item ${itemId} of request ${requestId} is admitted twice`);
    }
    this.#known.add(itemId).add(requestId);
    this.#waiting.set(itemId, { target, requestId });
  }

  #claim(itemId: string, target: InboxTarget): void {
    const item = this.#waiting.get(itemId);
    if (item?.target !== target) {
      this.say(`item ${itemId} is claimed and does not wait in ${target}`);
      return;
    }
    this.#waiting.delete(itemId);
    this.#claimed.set(item.requestId, 'to be shown');
    this.#claimedNow.push(item.requestId);
    if (target !== 'next-turn') return;
    if (!this.#takesPrompt) this.say(`item ${itemId} of next-turn is claimed by a turn that has its prompt`);
    this.#takesPrompt = false;
  }

  turnStarted(requestIds: readonly string[]): void {
    this.#promised = requestIds;
    this.#claimedNow = [];
    this.#takesPrompt = true;
  }

  stepStarted(step: number): void {
    if (step === 1 && !this.repaired && this.#promised?.join() !== this.#claimedNow.join()) {
      this.say('has other input than its turn/start names');
    }
    this.#takesPrompt = false;
    this.#toShow = this.#claimedNow;
    this.#claimedNow = [];
  }

  shown({ data: { source } }: EventOf<'user/message'>): void {
    if (source.kind !== 'user') return;
    const state = this.#claimed.get(source.requestId);
    if (state === undefined) this.say(`request ${source.requestId} is shown and was not claimed`);
    if (state === 'shown') this.say(`request ${source.requestId} is shown twice`);
    this.#claimed.set(source.requestId, 'shown');
  }

  stepEnded(): void {
    if (this.repaired) return;
    for (const requestId of this.#toShow) {
      if (this.#claimed.get(requestId) !== 'shown') this.say(`request ${requestId} is claimed and not shown`);
    }
  }
}
