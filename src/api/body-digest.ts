/** The digest by which a repeated request is told from another one with the same id. */
import { createHash } from 'node:crypto';

/** SHA-256, as lower-case hexadecimal, of the value's JSON with the keys of every object in order. */
export function bodyDigest(value: unknown): string {
  return createHash('sha256').update(canonicalJson(value)).digest('hex');
}

function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, entry: unknown) =>
    typeof entry === 'object' && entry !== null && !Array.isArray(entry)
      ? Object.fromEntries(Object.entries(entry).sort(([a], [b]) => (a < b ? -1 : 1)))
      : entry,
  );
}
