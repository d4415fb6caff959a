/** Runs recorded streams through a translator and puts the blocks together, as the streaming loop does. */
import type { ModelChunk } from '../../../src/contract/chunks.js';
import type { AssistantBlock } from '../../../src/contract/content.js';
import type { CallId } from '../../../src/contract/ids.js';
import { BlockAssembler } from '../../../src/model/block-assembler.js';
import type { FailureContext } from '../../../src/model/failure-classifier.js';
import { createSseDecoder } from '../../../src/model/sse.js';
import type { StreamTranslator } from '../../../src/model/stream-translator.js';

export const CONTEXT: FailureContext = { provider: 'local', secrets: ['sk-secret-key'], now: () => 0 };

/** The chunks of a stream that came in these pieces. */
export function translated(pieces: readonly Uint8Array[], translator: StreamTranslator): ModelChunk[] {
  const decoder = createSseDecoder();
  const chunks: ModelChunk[] = [];
  for (const piece of pieces) {
    for (const event of decoder.push(piece)) chunks.push(...translator.push(event));
  }
  for (const event of decoder.end()) chunks.push(...translator.push(event));
  chunks.push(...translator.end());
  return chunks;
}

/** The message that chunks amount to, with `made_1`, `made_2` … in the place of unusable call ids. */
export function assembled(
  chunks: readonly ModelChunk[],
  usedCallIds: (id: string) => boolean = () => false,
): { content: AssistantBlock[]; published: ModelChunk[]; assembler: BlockAssembler } {
  let made = 0;
  const assembler = new BlockAssembler({
    usedCallIds,
    makeCallId: () => `made_${String(++made)}` as CallId,
  });
  const published = chunks.flatMap((chunk) => assembler.add(chunk));
  return { content: assembler.completeContent(assembler.finish ?? 'aborted'), published, assembler };
}

/** The bytes of a stream whose events have these data. */
export function eventStream(events: readonly unknown[]): Uint8Array {
  const text = events.map(
    (event) => `data: ${typeof event === 'string' ? event : JSON.stringify(event)}\n\n`,
  );
  return new TextEncoder().encode(text.join(''));
}
