/**
 * The calls of one worker to one provider key: how many run at once, and how long all of them are to wait.
 *
 * Owns no timer between calls. A key is named by the caller, who sees to it that the name is not the key itself.
 */
import { abortableWait } from './abortable-wait.js';
import { ModelFailure } from './model-failure.js';

/** A longer wait is not sat out by a running activity: the call fails at once and its durable retry waits. */
export const MAX_GATE_WAIT_MS = 10_000;
/** Calls that waited together start again within this time, not all at once. */
const SPREAD_MS = 500;

interface Lane {
  running: number;
  /** By the gate's clock. */
  heldUntil: number;
  readonly waiting: (() => void)[];
}

export interface ProviderGateOptions {
  /** A clock that only goes forward, in milliseconds; default `performance.now`. */
  readonly now?: () => number;
  /** From 0 to below 1; default `Math.random`. */
  readonly random?: () => number;
}

export interface GateEntry {
  readonly key: string;
  /** How many calls run at once; null is no limit. */
  readonly concurrency: number | null;
  readonly signal: AbortSignal;
}

export class ProviderGate {
  readonly #now: () => number;
  readonly #random: () => number;
  readonly #lanes = new Map<string, Lane>();

  constructor(options: ProviderGateOptions = {}) {
    this.#now = options.now ?? (() => performance.now());
    this.#random = options.random ?? Math.random;
  }

  /**
   * Waits for a place and until the provider takes calls again; the caller has to call what it returns once it is done.
   *
   * @throws the signal's reason, or {ModelFailure} RATE_LIMIT where the provider asked for a longer wait than
   *   {@link MAX_GATE_WAIT_MS}.
   */
  async enter({ key, concurrency, signal }: GateEntry): Promise<() => void> {
    signal.throwIfAborted();
    const lane = this.#lane(key);
    if (concurrency !== null && lane.running >= concurrency) await waitForPlace(lane, signal);
    else lane.running += 1;
    let left = false;
    const leave = (): void => {
      if (left) return;
      left = true;
      // A place is handed on as it is; it is given back only where nobody waits.
      const next = lane.waiting.shift();
      if (next === undefined) lane.running -= 1;
      else next();
    };
    try {
      await this.#waitWhileHeld(lane, signal);
      return leave;
    } catch (error) {
      leave();
      throw error;
    }
  }

  /** The provider asked for a wait: calls of this key start no sooner. */
  hold(key: string, waitMs: number): void {
    const lane = this.#lane(key);
    lane.heldUntil = Math.max(lane.heldUntil, this.#now() + waitMs);
  }

  async #waitWhileHeld(lane: Lane, signal: AbortSignal): Promise<void> {
    for (let left = lane.heldUntil - this.#now(); left > 0; left = lane.heldUntil - this.#now()) {
      const waitMs = left + SPREAD_MS * this.#random();
      if (left > MAX_GATE_WAIT_MS) {
        throw new ModelFailure(
          'RATE_LIMIT',
          'The provider asked another call to wait, so this one waits too',
          {
            retryAfterMs: Math.ceil(waitMs),
          },
        );
      }
      await abortableWait(waitMs, signal);
    }
  }

  #lane(key: string): Lane {
    const known = this.#lanes.get(key);
    if (known !== undefined) return known;
    const lane: Lane = { running: 0, heldUntil: 0, waiting: [] };
    this.#lanes.set(key, lane);
    return lane;
  }
}

function waitForPlace(lane: Lane, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const enter = (): void => {
      signal.removeEventListener('abort', abort);
      resolve();
    };
    const abort = (): void => {
      lane.waiting.splice(lane.waiting.indexOf(enter), 1);
      reject(signal.reason as Error);
    };
    lane.waiting.push(enter);
    signal.addEventListener('abort', abort, { once: true });
  });
}
