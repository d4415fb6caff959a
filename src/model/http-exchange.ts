/**
 * One POST over node:http(s) whose socket closes the moment it is told to.
 *
 * Global fetch is not used: it ends an answer after 300 s without headers or data, whatever `silenceMs` says. Redirects
 * are not followed, and answers are asked for uncompressed, so that no chunk waits in a decompressor.
 */
import * as http from 'node:http';
import * as https from 'node:https';

/** How long an answer that said all may take to end, so that its connection can serve again. */
const DRAIN_MS = 1000;

const httpAgent = new http.Agent({ keepAlive: true });
const httpsAgent = new https.Agent({ keepAlive: true });

export interface HttpRequest {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface HttpResponse {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: http.IncomingHttpHeaders;
  /** The next bytes; undefined at the end. Rejects with what closed the exchange, or with the socket's error. */
  read(): Promise<Uint8Array | undefined>;
  /** Reads on in the background for a second at most; nothing may be read after it. */
  drain(): void;
}

export interface HttpExchange {
  /** Rejects with what closed the exchange, or with the socket's error. */
  readonly response: Promise<HttpResponse>;
  /** Destroys the socket; what waits on the exchange rejects with `reason`. Does nothing after the end. */
  close(reason: Error): void;
}

/** @throws {TypeError} where a header holds a character that HTTP forbids. */
export function post(request: HttpRequest): HttpExchange {
  let current = start(request);
  let answer: http.IncomingMessage | undefined;
  let closed = false;
  let socketError: Error | undefined;
  const response = new Promise<HttpResponse>((resolve, reject) => {
    const follow = (outgoing: http.ClientRequest): void => {
      outgoing.once('response', (message) => {
        answer = message;
        resolve(responseOf(message, () => socketError));
      });
      outgoing.on('error', (error) => {
        // The server closed an idle connection as it was taken up again: nothing was answered, so it is sent anew.
        const stale = answer === undefined && !closed && outgoing.reusedSocket && isReset(error);
        if (!stale) {
          socketError = error;
          reject(error);
          return;
        }
        current = start(request);
        follow(current);
      });
    };
    follow(current);
  });
  // The caller may have left before the connection failed.
  response.catch(ignoreLateFailure);
  return {
    response,
    close: (reason) => {
      closed = true;
      if (answer === undefined) current.destroy(reason);
      else answer.destroy(reason);
    },
  };
}

function start(request: HttpRequest): http.ClientRequest {
  const body = Buffer.from(request.body, 'utf8');
  const secure = request.url.protocol === 'https:';
  const outgoing = (secure ? https : http).request(request.url, {
    method: 'POST',
    agent: secure ? httpsAgent : httpAgent,
    headers: { ...request.headers, 'accept-encoding': 'identity', 'content-length': body.byteLength },
  });
  outgoing.end(body);
  return outgoing;
}

function responseOf(message: http.IncomingMessage, socketError: () => Error | undefined): HttpResponse {
  // An exchange may be closed while nobody reads; the reader, if there is one, gets the error too.
  message.on('error', ignoreLateFailure);
  const chunks = message[Symbol.asyncIterator]() as AsyncIterator<Buffer, undefined>;
  const read = async (): Promise<Uint8Array | undefined> => {
    try {
      const next = await chunks.next();
      return next.done === true ? undefined : next.value;
    } catch (error) {
      // The message only knows that it was cut off; the socket knows by what.
      throw socketError() ?? error;
    }
  };
  const drain = async (): Promise<void> => {
    const tooLong = setTimeout(() => message.destroy(), DRAIN_MS);
    try {
      while ((await read()) !== undefined);
    } finally {
      clearTimeout(tooLong);
    }
  };
  return {
    status: message.statusCode ?? 0,
    headers: message.headers,
    read,
    drain: () => {
      drain().catch(ignoreLateFailure);
    },
  };
}

function isReset(error: NodeJS.ErrnoException): boolean {
  return error.code === 'ECONNRESET' || error.code === 'EPIPE';
}

/** Swallows the failure of an exchange whose outcome is settled already. */
function ignoreLateFailure(): void {
  return undefined;
}
