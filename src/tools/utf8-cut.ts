/** Cuts UTF-8 bytes without splitting a character. */

/** The longest head of at most `max` bytes that ends between characters. */
export function utf8Head(bytes: Uint8Array, max: number): Uint8Array {
  if (bytes.length <= max) return bytes;
  let end = max;
  while (end > 0 && isContinuation(bytes[end])) end -= 1;
  return bytes.subarray(0, end);
}

/** The longest tail of at most `max` bytes that begins between characters. */
export function utf8Tail(bytes: Uint8Array, max: number): Uint8Array {
  let start = Math.max(0, bytes.length - max);
  while (start < bytes.length && start > 0 && isContinuation(bytes[start])) start += 1;
  return bytes.subarray(start);
}

function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80;
}
