/** Which character set the bytes of a text are in, and the text. */

/** HTML says it within its first 1024 bytes (WHATWG HTML, 13.2.3.2). */
const PRESCAN_BYTES = 1024;

const BYTE_ORDER_MARKS: readonly (readonly [charset: string, bytes: readonly number[]])[] = [
  ['utf-8', [0xef, 0xbb, 0xbf]],
  ['utf-16le', [0xff, 0xfe]],
  ['utf-16be', [0xfe, 0xff]],
];

/**
 * Decodes text by its byte order mark, else by the charset of its `Content-Type`, else by what an HTML or XML text says
 * of itself, else as UTF-8. A name that is not known counts as not given. Wrong bytes become U+FFFD.
 */
export function decodeText(bytes: Uint8Array, contentType: string): string {
  const named = byteOrderMark(bytes) ?? known(charsetParameter(contentType)) ?? known(declaredCharset(bytes));
  return new TextDecoder(named ?? 'utf-8').decode(bytes);
}

/** Whether the text is in UTF-16, so that a NUL byte in it says nothing. */
export function isUtf16(bytes: Uint8Array, contentType: string): boolean {
  return (byteOrderMark(bytes) ?? known(charsetParameter(contentType)))?.startsWith('utf-16') ?? false;
}

function byteOrderMark(bytes: Uint8Array): string | undefined {
  return BYTE_ORDER_MARKS.find(([, mark]) => mark.every((byte, index) => bytes[index] === byte))?.[0];
}

function charsetParameter(contentType: string): string | undefined {
  return /;\s*charset\s*=\s*"?([^\s";]+)/i.exec(contentType)?.[1];
}

function declaredCharset(bytes: Uint8Array): string | undefined {
  const start = Buffer.from(bytes.subarray(0, PRESCAN_BYTES)).toString('latin1');
  const declared =
    /<meta[^>]*[\s;"']charset\s*=\s*["']?\s*([^\s"'>;/]+)/i.exec(start)?.[1] ??
    /^\s*<\?xml[^>]*\sencoding\s*=\s*["']([^"']+)/i.exec(start)?.[1];
  // It could be read as single bytes, so it is not in UTF-16, whatever it says.
  return declared?.toLowerCase().startsWith('utf-16') === true ? 'utf-8' : declared;
}

/** The canonical name, or undefined where there is no such character set. */
function known(charset: string | undefined): string | undefined {
  if (charset === undefined) return undefined;
  try {
    return new TextDecoder(charset).encoding;
  } catch {
    // An unknown label is the only error: it counts as not given.
    return undefined;
  }
}
