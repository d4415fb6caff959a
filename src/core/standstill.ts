/**
 * Standstills: times in which nothing could run, because no server was there, the machine slept or the engine was away.
 *
 * Owns what the log, a person and the model are told of one. That there was one is seen by the runtime.
 */
import { eventKeys } from '../contract/event-keys.js';
import type { NewEvent, OldWorkPolicy } from '../contract/events.js';
import type { Interruption, OpenTurn } from './open-turn.js';
import type { AddedMessage } from './turn-progress.js';

/** Times in milliseconds since the epoch. */
export interface Standstill {
  readonly from: number;
  readonly to: number;
}

export interface OldWork {
  readonly policy: OldWorkPolicy;
  /** A turn that stood still for at least so long is old work. */
  readonly afterMs: number;
}

/**
 * `session/repaired` for a turn that went on after a standstill. None where it waited for a person, who may take any
 * time, or was not there yet.
 */
export function interruptionEvents(
  turn: OpenTurn | null,
  { from, to }: Standstill,
  oldWork: OldWork,
): NewEvent[] {
  if (turn === null || turn.waitingSince !== null) return [];
  const since = Math.max(from, Date.parse(turn.startedAt));
  const quietMs = to - since;
  if (quietMs <= 0) return [];
  const policy = quietMs >= oldWork.afterMs ? oldWork.policy : undefined;
  return [
    {
      type: 'session/repaired',
      key: eventKeys.turnInterrupted(turn.number, new Date(since).toISOString()),
      data: {
        what: `Turn ${String(turn.number)} goes on after nothing could run for ${inWords(quietMs)}.${policy === 'ask' ? ` ${ASKED}` : ''}`,
        cause: 'interrupted',
        quietMs,
        ...(policy === undefined ? {} : { policy }),
      },
    },
  ];
}

const ASKED = 'Before anything is changed a person is asked.';

/** Why calls that may change something are asked about; undefined where they are not. */
export function askFirstReason(interruption: Interruption | null): string | undefined {
  return interruption?.policy === 'ask'
    ? `The turn stood still for ${inWords(interruption.quietMs)}, so what it was asked for may be out of date.`
    : undefined;
}

/** What the model is told, once, of a standstill that made its turn old work. */
export function interruptionNotice(interruption: Interruption | null): AddedMessage[] {
  if (interruption === null || interruption.policy === null || interruption.told) return [];
  const text =
    `Nothing of this turn could run for ${inWords(interruption.quietMs)}; it goes on now. ` +
    'What you know of files, processes and the world may be out of date: look again before you rely on it.';
  return [{ content: [{ type: 'text', text }], source: { kind: 'context', form: 'notice' } }];
}

const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1000],
] as const;

/** A length of time in its two largest units, such as `1 d 2 h`. */
export function inWords(ms: number): string {
  let left = Math.max(0, ms);
  const parts: string[] = [];
  for (const [unit, size] of UNITS) {
    const count = Math.floor(left / size);
    left -= count * size;
    if (count > 0 || parts.length > 0) parts.push(count > 0 ? `${String(count)} ${unit}` : '');
    if (parts.length === 2) break;
  }
  return parts.filter((part) => part !== '').join(' ') || '0 s';
}
