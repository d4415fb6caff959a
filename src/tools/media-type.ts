/** What bytes are, by looking at their beginning: text or not, and which common format where not. */

const SNIFF_BYTES = 8000;

const SIGNATURES: readonly (readonly [mediaType: string, prefix: string])[] = [
  ['image/png', '\x89PNG\r\n\x1a\n'],
  ['image/jpeg', '\xff\xd8\xff'],
  ['image/gif', 'GIF8'],
  ['image/webp', 'RIFF????WEBP'],
  ['application/pdf', '%PDF-'],
  ['application/zip', 'PK\x03\x04'],
  ['application/gzip', '\x1f\x8b'],
  ['application/x-xz', '\xfd7zXZ\0'],
  ['application/zstd', '\x28\xb5\x2f\xfd'],
  ['application/vnd.sqlite3', 'SQLite format 3\0'],
  ['application/x-elf', '\x7fELF'],
];

/** Whether the bytes are no text: there is a NUL in their first 8000, as git judges it. */
export function looksBinary(bytes: Uint8Array): boolean {
  return bytes.subarray(0, SNIFF_BYTES).includes(0);
}

/** The media type of bytes that are no text; `application/octet-stream` where they are of no known format. */
export function binaryMediaType(bytes: Uint8Array): string {
  const known = SIGNATURES.find(([, prefix]) =>
    Array.from(prefix).every((sign, index) => sign === '?' || bytes[index] === sign.charCodeAt(0)),
  );
  return known?.[0] ?? 'application/octet-stream';
}
