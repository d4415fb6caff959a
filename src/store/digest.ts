/** Names of blobs. */
import { createHash } from 'node:crypto';
import type { Sha256 } from '../contract/ids.js';

/** The lower-case hexadecimal SHA-256 of the bytes. */
export function digestOf(bytes: Uint8Array): Sha256 {
  return createHash('sha256').update(bytes).digest('hex') as Sha256;
}
