/** The content of a prompt, checked against what the session has. */
import type { InputBlock } from '../contract/content.js';
import type { SessionUid, Sha256 } from '../contract/ids.js';
import type { SessionStore } from '../store/session-store.js';
import { ProblemError } from './problem.js';

/** A prompt's text or content as content blocks. */
export function contentOf(input: {
  readonly text?: string | undefined;
  readonly content?: readonly InputBlock[] | undefined;
}): readonly InputBlock[] {
  return input.content ?? [{ type: 'text', text: input.text ?? '' }];
}

/**
 * Checks that every blob that the content names is in the session.
 *
 * @throws `ProblemError` `INVALID_REQUEST` that names the block.
 */
export async function checkBlobs(
  store: Pick<SessionStore, 'readBlob'>,
  uid: SessionUid,
  content: readonly InputBlock[],
): Promise<void> {
  for (const [index, block] of content.entries()) {
    const sha256 = blobOf(block);
    if (sha256 === undefined || (await store.readBlob(uid, sha256)) !== undefined) continue;
    const field = `content.${String(index)}`;
    throw new ProblemError('INVALID_REQUEST', `"${field}": the session has no blob ${sha256}.`, field);
  }
}

function blobOf(block: InputBlock): Sha256 | undefined {
  switch (block.type) {
    case 'text':
      return undefined;
    case 'blob':
      return block.sha256;
    case 'image':
    case 'file':
      return block.blob;
  }
}
