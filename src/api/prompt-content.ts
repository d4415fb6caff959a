/** The content of a prompt, checked against what the session has and what its model can be shown. */
import type { FileBlock, ImageBlock, InputBlock } from '../contract/content.js';
import type { ModelResource } from '../contract/http.js';
import { isTextType, showingOf } from '../core/media.js';
import type { LogTransaction } from '../store/session-store.js';
import { ProblemError } from './problem.js';

/** A prompt's text or content as content blocks. */
export function contentOf(input: {
  readonly text?: string | undefined;
  readonly content?: readonly InputBlock[] | undefined;
}): readonly InputBlock[] {
  return input.content ?? [{ type: 'text', text: input.text ?? '' }];
}

export interface ContentCheck {
  /** The model that will be shown the content; undefined where the configuration does not have it. */
  readonly model: ModelResource | undefined;
  /** The body's field that holds the content; default `content`. */
  readonly field?: string;
}

/**
 * Checks that every blob that the content names is in the session, is what the content says, and can be shown to the
 * model.
 *
 * @throws `ProblemError` `INVALID_REQUEST` that names the block.
 */
export async function checkContent(
  transaction: Pick<LogTransaction, 'blobType'>,
  content: readonly InputBlock[],
  { model, field = 'content' }: ContentCheck,
): Promise<void> {
  for (const [index, block] of content.entries()) {
    if (block.type === 'text') continue;
    const where = `${field}.${String(index)}`;
    const sha256 = block.type === 'blob' ? block.sha256 : block.blob;
    const stored = await transaction.blobType(sha256);
    if (stored === undefined) throw refused(where, `the session has no blob ${sha256}; upload it first`);
    if (block.type === 'blob') {
      if (!isTextType(stored)) throw refused(where, `the blob is ${stored}; name it as an image or a file`);
      continue;
    }
    checkMedia(where, block, { stored, model });
  }
}

/** Refuses content that names blobs, for a session that is not there yet. @throws as {@link checkContent}. */
export function refuseBlobs(content: readonly InputBlock[], field: string): void {
  const index = content.findIndex(({ type }) => type !== 'text');
  if (index === -1) return;
  throw refused(
    `${field}.${String(index)}`,
    'a session of its own has no blobs; upload them to a session and name that as "sessionId"',
  );
}

function checkMedia(
  where: string,
  block: ImageBlock | FileBlock,
  { stored, model }: { readonly stored: string; readonly model: ModelResource | undefined },
): void {
  const { type, mediaType } = block;
  if (mediaType !== essenceOf(stored)) {
    throw refused(`${where}.mediaType`, `the blob is ${essenceOf(stored)}`);
  }
  const showing = showingOf(block);
  if (showing === 'nothing') {
    const shown = type === 'image' ? 'image/png, jpeg, gif and webp' : 'text, JSON and its kin, and PDF';
    throw refused(`${where}.mediaType`, `no model is shown ${mediaType} as ${type}; what can be is ${shown}`);
  }
  if (model === undefined || showing === 'text') return;
  const ability = showing === 'image' ? 'images' : 'files';
  if (model.abilities[ability]) return;
  throw refused(
    where,
    `the model ${model.provider}/${model.model} takes no ${ability}; GET /v1/models says which ones do`,
  );
}

/** A media type without its parameters, in lower case. */
export function essenceOf(mediaType: string): string {
  return mediaType.replace(/;.*$/s, '').trim().toLowerCase();
}

function refused(field: string, what: string): ProblemError {
  return new ProblemError('INVALID_REQUEST', `"${field}": ${what}.`, field);
}
