/** One HTTP exchange with a server: addresses, headers, and answers turned into values or errors. */
import { apiErrorOf, ConnectionError } from './api-error.js';

export interface ConnectionOptions {
  /** Such as `http://127.0.0.1:8787`. */
  readonly baseUrl: string;
  readonly apiKey?: string | undefined;
  /** Default: the platform's. */
  readonly fetch?: typeof fetch | undefined;
}

/** Bytes that are sent; a stream is sent as it comes. */
export type Upload = Uint8Array | Blob | ReadableStream<Uint8Array>;

export type QueryValue = string | number | undefined;

export interface RequestOptions {
  readonly method?: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  readonly query?: Readonly<Record<string, QueryValue>> | undefined;
  /** Sent as JSON. */
  readonly body?: unknown;
  /** Sent as they are, in the place of a body. */
  readonly bytes?: { readonly data: Upload; readonly mediaType: string };
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal | undefined;
  /** A status that is no error for this call although it says so. */
  readonly expectedStatus?: number;
}

/** Sends a request; the answer is a success, with its body unread. @throws `ApiError`, `ConnectionError`, or the signal's reason. */
export type Send = (path: string, options?: RequestOptions) => Promise<Response>;

/** Makes the function by which all calls of one client go out. */
export function createSend({ baseUrl, apiKey, fetch: ownFetch }: ConnectionOptions): Send {
  const base = baseUrl.replace(/\/+$/, '');
  return async (path, options = {}) => {
    const { method = 'GET', query = {}, body, bytes, headers = {}, signal, expectedStatus } = options;
    const doFetch = ownFetch ?? globalThis.fetch;
    const init: RequestInit = {
      method,
      headers: {
        accept: 'application/json',
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(bytes === undefined ? {} : { 'content-type': bytes.mediaType }),
        ...(apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(bytes === undefined ? {} : { body: bytes.data as NonNullable<RequestInit['body']> }),
      // What a stream needs (WHATWG Fetch): the answer is read once it has been sent.
      ...(bytes?.data instanceof ReadableStream ? { duplex: 'half' } : {}),
      ...(signal === undefined ? {} : { signal }),
    };
    const response = await reached(base, signal, () => doFetch(base + path + queryText(query), init));
    if (!response.ok && response.status !== expectedStatus) throw await apiErrorOf(response);
    return response;
  };
}

/** The JSON of an answer. The server's shapes are its contract, so they are taken as they come. */
export async function jsonOf<T>(response: Promise<Response>): Promise<T> {
  const answer = await response;
  return reached(answer.url, undefined, async () => (await answer.json()) as T);
}

async function reached<T>(
  where: string,
  signal: AbortSignal | undefined,
  exchange: () => Promise<T>,
): Promise<T> {
  try {
    return await exchange();
  } catch (error) {
    signal?.throwIfAborted();
    throw new ConnectionError(`${where} cannot be reached.`, { cause: error });
  }
}

function queryText(query: Readonly<Record<string, QueryValue>>): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) parameters.set(name, String(value));
  }
  return parameters.size === 0 ? '' : `?${parameters.toString()}`;
}
