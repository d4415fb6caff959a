/** The raw argument string of a call, wherever it is kept. */
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
