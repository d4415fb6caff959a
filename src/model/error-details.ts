/**
 * What a provider's error says, whatever its shape: OpenAI's and Anthropic's objects, lists, plain strings, HTML.
 *
 * Takes names and messages only: some servers repeat the request in their error, and prompts belong in no message.
 */

export interface ErrorDetails {
  /** Type and code as the provider names them, in lower case and parted by a blank; '' where it names none. */
  readonly name: string;
  readonly message: string;
  /** A status that stands inside of the error. */
  readonly status?: number;
  readonly requestId?: string;
}

/** @param source the text of an answer, or the parsed data of an error event. */
export function errorDetails(source: unknown): ErrorDetails {
  const body = typeof source === 'string' ? parsed(source) : source;
  const outer = record(Array.isArray(body) ? body[0] : body);
  if (outer === undefined) return { name: '', message: typeof body === 'string' ? plain(body) : '' };
  const inner = record(outer['error']) ?? outer;
  const message =
    text(inner['message']) ?? text(outer['error']) ?? text(outer['message']) ?? validation(outer['detail']);
  const status = [inner['code'], inner['status'], outer['status']].find(isErrorStatus);
  const requestId = text(outer['request_id']);
  return {
    name: [inner['type'], inner['code'], inner['status']]
      .filter((part) => typeof part === 'string')
      .join(' ')
      .toLowerCase()
      .slice(0, 200),
    message: plain(message ?? ''),
    ...(status === undefined ? {} : { status }),
    ...(requestId === undefined ? {} : { requestId: requestId.slice(0, 200) }),
  };
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    // Not JSON: a proxy's page or a plain sentence.
    return /^\s*</.test(body) ? '' : body;
  }
}

/** Validation errors carry the refused input beside the message; only place and message are taken. */
function validation(detail: unknown): string | undefined {
  if (!Array.isArray(detail)) return text(detail);
  return detail
    .map((entry) => record(entry))
    .map((entry) => [entry?.['loc'], entry?.['msg']].flat().filter(isWord).join(' '))
    .join('; ');
}

function isWord(value: unknown): value is string | number {
  return typeof value === 'string' || typeof value === 'number';
}

function isErrorStatus(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 400 && value <= 599;
}

function record(value: unknown): Record<string, unknown> | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : undefined;
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

function plain(message: string): string {
  return message.replace(/\s+/g, ' ').trim();
}
