/** The preview of a tool that changes one file: what would change, as a diff under the file's name. */
import type { ApprovalPreview } from '../contract/events.js';
import { showPath } from './file-errors.js';
import { type Replacement, unifiedDiff } from './unified-diff.js';

/** @param before what stands in the file; undefined where there is none yet. */
export function diffPreview(
  path: string,
  before: string | undefined,
  replacements: readonly Replacement[],
): ApprovalPreview {
  const name = showPath(path);
  const head = `--- ${before === undefined ? '/dev/null' : name}\n+++ ${name}`;
  return { kind: 'diff', text: `${head}\n${unifiedDiff(before ?? '', replacements)}` };
}
