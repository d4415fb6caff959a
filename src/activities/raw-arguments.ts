/** The raw argument string of a call, wherever it is kept and whatever was made of it. */
import type { CallState } from '../core/session-state.js';
import { wholeString } from '../store/large-content.js';
import type { LogTransaction } from '../store/session-store.js';

/** The string that the model wrote. @throws `StoreError` `LOG_CORRUPT` where its blob is missing. */
export function rawArguments(
  call: Pick<CallState, 'arguments'>,
  readBlob: LogTransaction['readBlob'],
): Promise<string> {
  return wholeString(call.arguments, readBlob);
}

/** What runs: the last of what hooks and people made of the model's arguments, else the model's own string. */
export function effectiveArguments(
  raw: string,
  ...changes: readonly ({ readonly arguments?: Readonly<Record<string, unknown>> } | null | undefined)[]
): string {
  const changed = changes.findLast((change) => change?.arguments !== undefined);
  return changed === undefined ? raw : JSON.stringify(changed?.arguments);
}
