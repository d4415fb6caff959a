/**
 * HTTP requests to addresses that a model or a client chose: a policy says which IP addresses they may reach, for the
 * first address and again for each redirect, and the connection goes to exactly the address that was checked.
 *
 * No cookies, no proxy, no connection that is used twice; certificates are verified for the name.
 */
import type { LookupAddress } from 'node:dns';
import * as http from 'node:http';
import * as https from 'node:https';
import type { LookupFunction } from 'node:net';
import { type AddressPolicy, isPublicAddress } from './address-policy.js';
import { ACCEPTED_ENCODINGS, type BoundedBody, readBoundedBody } from './bounded-body.js';
import { checkedAddresses, type ResolveHost, resolveBySystem } from './checked-addresses.js';
import { WebRequestError } from './web-request-error.js';
import { parseWebUrl } from './web-url.js';

/** What decides where requests may go. The defaults are the strict ones. */
export interface GuardOptions {
  /** Default: {@link isPublicAddress}. */
  readonly isAllowedAddress?: AddressPolicy;
  /** Default: {@link resolveBySystem}. */
  readonly resolve?: ResolveHost;
  /** PEM certificates of the authorities that are trusted; default: those of Node.js. */
  readonly ca?: string;
}

export interface GuardedRequest {
  /** Checked as {@link parseWebUrl} does. */
  readonly url: string;
  readonly method?: 'GET' | 'POST';
  /** They go to each address that the request is redirected to. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** How many redirects of a GET are followed; 0, the default, returns a redirect as the answer that it is. */
  readonly maxRedirects?: number;
  /** Of decoded body. What is over it is not read. */
  readonly maxBytes: number;
  /** For everything together, from resolving the name to the last byte. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

export interface GuardedResponse extends BoundedBody {
  /** Where the answer came from, after all redirects. */
  readonly url: URL;
  readonly status: number;
  readonly statusText: string;
  /** Names in lower case. */
  readonly headers: http.IncomingHttpHeaders;
}

/**
 * Rejects with {@link WebRequestError}, or with the reason of an aborted signal. Either way the socket is closed.
 */
export type GuardedFetch = (request: GuardedRequest) => Promise<GuardedResponse>;

const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

export function createGuardedFetch({
  isAllowedAddress = isPublicAddress,
  resolve = resolveBySystem,
  ca,
}: GuardOptions = {}): GuardedFetch {
  const followAll = async (request: GuardedRequest, signal: AbortSignal): Promise<GuardedResponse> => {
    const { method = 'GET', maxRedirects = 0, maxBytes } = request;
    let url = parseWebUrl(request.url);
    for (let redirects = 0; ; redirects += 1) {
      const addresses = await unlessAborted(checkedAddresses(url, isAllowedAddress, resolve), signal);
      const message = await exchange({ url, addresses, request, signal, ca });
      const target = message.headers.location;
      const status = message.statusCode ?? 0;
      if (method !== 'GET' || maxRedirects === 0 || target === undefined || !REDIRECTS.has(status)) {
        const { statusMessage: statusText = '', headers } = message;
        return { url, status, statusText, headers, ...(await bodyOf(message, maxBytes, url)) };
      }
      message.destroy();
      if (redirects === maxRedirects) {
        throw new WebRequestError(
          'TOO_MANY_REDIRECTS',
          `${url.host} redirects on after ${String(maxRedirects)} redirects.`,
        );
      }
      url = parseWebUrl(target, url);
    }
  };

  return async (request) => {
    const deadline = new AbortController();
    const timer = setTimeout(() => {
      const seconds = String(request.timeoutMs / 1000);
      deadline.abort(new WebRequestError('TIMEOUT', `There was no whole answer within ${seconds} s.`));
    }, request.timeoutMs);
    const signal = AbortSignal.any([request.signal, deadline.signal]);
    try {
      signal.throwIfAborted();
      return await followAll(request, signal);
    } catch (error) {
      // Whatever broke because of it: the reason is what happened.
      throw signal.aborted ? signal.reason : error;
    } finally {
      clearTimeout(timer);
    }
  };
}

interface Exchange {
  readonly url: URL;
  readonly addresses: readonly LookupAddress[];
  readonly request: GuardedRequest;
  readonly signal: AbortSignal;
  readonly ca: string | undefined;
}

function exchange({ url, addresses, request, signal, ca }: Exchange): Promise<http.IncomingMessage> {
  const secure = url.protocol === 'https:';
  const body = request.body === undefined ? undefined : Buffer.from(request.body, 'utf8');
  return new Promise((resolve, reject) => {
    const outgoing = (secure ? https : http).request(url, {
      method: request.method ?? 'GET',
      // A shared agent would reuse sockets by name, and one from the environment might lead through a proxy.
      agent: secure ? new https.Agent() : new http.Agent(),
      lookup: answering(addresses),
      ...(ca === undefined ? {} : { ca }),
      signal,
      headers: {
        ...request.headers,
        'accept-encoding': ACCEPTED_ENCODINGS,
        ...(body === undefined ? {} : { 'content-length': body.length }),
      },
    });
    outgoing.once('response', resolve);
    outgoing.on('error', (error) => {
      reject(connectionError(error, url));
    });
    // A server that switches protocols closes the request without an error.
    outgoing.once('close', () => {
      reject(
        new WebRequestError('CONNECTION_FAILED', `${url.host} closed the connection without an answer.`),
      );
    });
    outgoing.end(body);
  });
}

/** A lookup that knows the checked addresses only, whatever it is asked for. */
function answering(addresses: readonly LookupAddress[]): LookupFunction {
  return (_hostname, options, callback) => {
    if (options.all === true) callback(null, [...addresses]);
    else callback(null, addresses[0]?.address ?? '', addresses[0]?.family);
  };
}

async function bodyOf(message: http.IncomingMessage, maxBytes: number, url: URL): Promise<BoundedBody> {
  try {
    return await readBoundedBody(message, maxBytes);
  } catch (error) {
    throw error instanceof WebRequestError ? error : connectionError(error, url);
  }
}

function connectionError(error: unknown, url: URL): WebRequestError {
  const code = error instanceof Error && 'code' in error ? String(error.code) : String(error);
  return new WebRequestError('CONNECTION_FAILED', `The request to ${url.host} failed: ${describe(code)}.`, {
    cause: error,
  });
}

function describe(code: string): string {
  if (code === 'ECONNREFUSED') return 'nothing listens there (ECONNREFUSED)';
  if (code === 'ECONNRESET') return 'the connection was closed before its end (ECONNRESET)';
  if (/CERT|SIGNATURE|SELF_SIGNED|ALTNAME/.test(code)) return `its certificate cannot be trusted (${code})`;
  if (code.startsWith('Z_') || code.startsWith('ERR_BROTLI') || code.startsWith('ERR__ERROR'))
    return `its compressed body is damaged (${code})`;
  return code;
}

async function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  let onAbort = () => {};
  const aborted = new Promise<never>((_resolve, reject) => {
    onAbort = () => {
      reject(signal.reason as Error);
    };
    signal.addEventListener('abort', onAbort, { once: true });
  });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}
