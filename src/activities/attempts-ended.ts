/** Waits for what runs in a step that is being stopped. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { TurnRef } from '../contract/agent-turn.js';
import type { SessionStore } from '../store/session-store.js';

/** What runs has this long to end by itself and to store what it has. */
const SETTLE_DEADLINE_MS = 1500;
const POLL_MS = 20;

/** Resolves when no attempt of the turn's open step runs any more, or after {@link SETTLE_DEADLINE_MS}. */
export async function attemptsEnded(store: SessionStore, ref: TurnRef): Promise<void> {
  for (let waitedMs = 0; waitedMs < SETTLE_DEADLINE_MS; waitedMs += POLL_MS) {
    if (!(await hasRunningAttempts(store, ref))) return;
    await sleep(POLL_MS);
  }
}

function hasRunningAttempts(store: SessionStore, { uid, turn }: TurnRef): Promise<boolean> {
  return store.transact(uid, async (transaction) => {
    const open = transaction.state.openTurn;
    if (open?.number !== turn || open.step === null) return false;
    return (await transaction.runningAttempts(turn, open.step.number)).length > 0;
  });
}
