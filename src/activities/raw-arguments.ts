/** The raw argument string of a call, wherever it is kept and whatever was made of it. */
import type { CallState } from '../core/session-state.js';
import { textOfBlob } from '../store/large-content.js';
import { StoreError, type LogTransaction } from '../store/session-store.js';

/** The string that the model wrote. @throws `StoreError` `LOG_CORRUPT` where its blob is missing. */
export async function rawArguments(call: CallState, readBlob: LogTransaction['readBlob']): Promise<string> {
  if (typeof call.arguments === 'string') return call.arguments;
  const blob = await readBlob(call.arguments.sha256);
  if (blob === undefined) {
    throw new StoreError('LOG_CORRUPT', `The arguments of call ${call.callId} are missing.`);
  }
  return textOfBlob(blob.bytes);
}

/** What runs: the last of what hooks and people made of the model's arguments, else the model's own string. */
export function effectiveArguments(
  raw: string,
  ...changes: readonly ({ readonly arguments?: Readonly<Record<string, unknown>> } | null | undefined)[]
): string {
  const changed = changes.findLast((change) => change?.arguments !== undefined);
  return changed === undefined ? raw : JSON.stringify(changed?.arguments);
}
