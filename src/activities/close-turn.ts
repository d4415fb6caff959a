/**
 * The end of a turn whose end failed: by the log alone, without hooks, settings, tools or attempts, which may be what
 * failed.
 */
import type { AdvanceInput, AdvanceOutcome } from '../contract/agent-turn.js';
import { repairEvents } from '../core/repair.js';
import { enterTurn } from '../core/turn-progress.js';
import type { LogTransaction } from '../store/session-store.js';
import { turnOutput } from '../store/turn-output.js';
import type { ActivityDeps } from './activity-deps.js';
import { openTurn } from './end-turn.js';

/** Closes the turn. What waits stays, and is due next. */
export async function closeTurn(
  deps: ActivityDeps,
  transaction: LogTransaction,
  { turn, run }: AdvanceInput,
): Promise<AdvanceOutcome> {
  if (transaction.state.openTurn?.number !== turn) return { kind: 'ended' };
  if ((await transaction.claimTurn(turn, run)).kind === 'refused') return { kind: 'superseded' };
  if (!transaction.state.openTurn.started) {
    await transaction.append(enterTurn(turn, transaction.state.inbox).events);
  }
  const open = openTurn(transaction);
  // Reading it may be what failed.
  const output = await turnOutput(open, (sha256) => transaction.readBlob(sha256)).catch(() => null);
  const what = `Turn ${String(turn)} could not be ended in the usual way; the server's log says why.`;
  await transaction.append(
    repairEvents(transaction.state, {
      note: what,
      what,
      output,
      planOf: () => ({ effect: 'effect', mode: 'exclusive' }),
      ids: deps.ids,
    }),
  );
  return { kind: 'ended' };
}
