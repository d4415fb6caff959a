/**
 * The proof that goes back with a model's reasoning on the Messages wire.
 *
 * A signature is worth something to the provider that made it and refused by any other, so the stored proof names its
 * provider.
 */
import type { PreparedBlock } from '../prepared-messages.js';

type ReasoningBlock = Extract<PreparedBlock, { type: 'reasoning' }>;

/** A content block of type `thinking` or `redacted_thinking`. */
export type ThinkingBlock =
  | { readonly type: 'thinking'; readonly thinking: string; readonly signature: string }
  | { readonly type: 'redacted_thinking'; readonly data: string };

/** The `replay` of a block whose text is shown; `provider` is its name in the configuration. */
export function signatureReplay(provider: string, signature: string): string {
  return `${provider}/signature/${signature}`;
}

/** The `replay` of a block whose text is hidden. */
export function redactedReplay(provider: string, data: string): string {
  return `${provider}/redacted/${data}`;
}

/**
 * The block as this provider takes it back; undefined where it would refuse it.
 *
 * @param unsigned whether the provider takes reasoning without a signature of its own.
 */
export function replayedThinking(
  block: ReasoningBlock,
  provider: string,
  unsigned: boolean,
): ThinkingBlock | undefined {
  const signed = signatureReplay(provider, '');
  const redacted = redactedReplay(provider, '');
  if (block.replay?.startsWith(signed) === true) {
    return { type: 'thinking', thinking: block.text, signature: block.replay.slice(signed.length) };
  }
  if (block.replay?.startsWith(redacted) === true) {
    return { type: 'redacted_thinking', data: block.replay.slice(redacted.length) };
  }
  return unsigned && block.text !== ''
    ? { type: 'thinking', thinking: block.text, signature: '' }
    : undefined;
}
