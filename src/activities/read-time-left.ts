/** The activity that tells how much of its time a turn has left, by the log. */
import type { TimeLeftInput } from '../contract/agent-turn.js';
import type { OpenTurn } from '../core/session-state.js';
import type { ActivityDeps } from './activity-deps.js';

export function createReadTimeLeft({ store, clock }: Pick<ActivityDeps, 'store' | 'clock'>) {
  return async function readTimeLeft({ uid, turn, limitMs }: TimeLeftInput): Promise<number> {
    const { openTurn } = await store.readState(uid);
    if (openTurn?.number !== turn) return 0;
    return Math.max(0, limitMs - workedMs(openTurn, clock()));
  };
}

/** How long the turn has gone on, without the time that it waited for people. @param now milliseconds since the epoch. */
export function workedMs({ startedAt, waitingSince, waitedMs }: OpenTurn, now: number): number {
  const end = waitingSince === null ? now : Date.parse(waitingSince);
  return Math.max(0, end - Date.parse(startedAt) - waitedMs);
}
