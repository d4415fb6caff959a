/** Why a request to the web has no answer. */

/**
 * - `INVALID_URL`: no address that may be asked for at all.
 * - `ADDRESS_REFUSED`: the host is, or resolves to, an address that the policy refuses.
 * - `TOO_MANY_REDIRECTS`.
 * - `CONNECTION_FAILED`: the name does not resolve, nothing answers, the connection breaks, the certificate is wrong.
 * - `INVALID_RESPONSE`: an answer that cannot be read.
 * - `TIMEOUT`: no whole answer in time.
 */
export type WebRequestErrorCode =
  | 'INVALID_URL'
  | 'ADDRESS_REFUSED'
  | 'TOO_MANY_REDIRECTS'
  | 'CONNECTION_FAILED'
  | 'INVALID_RESPONSE'
  | 'TIMEOUT';

/** The message is for a model or a person and holds neither headers nor the body of the request. */
export class WebRequestError extends Error {
  override readonly name = 'WebRequestError';

  constructor(
    readonly code: WebRequestErrorCode,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}
