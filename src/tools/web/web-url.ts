/** Which addresses may be asked for: http(s), without credentials. Where their host leads is not looked at here. */
import { WebRequestError } from './web-request-error.js';

/**
 * The address, relative to `base` where there is one.
 *
 * @throws {WebRequestError} INVALID_URL, with a message that does not repeat credentials.
 */
export function parseWebUrl(text: string, base?: URL): URL {
  if (!URL.canParse(text, base?.href)) {
    throw new WebRequestError(
      'INVALID_URL',
      'The address is not a valid URL; it has to begin with https:// or http://.',
    );
  }
  const url = new URL(text, base);
  if (url.protocol !== 'https:' && url.protocol !== 'http:') {
    throw new WebRequestError('INVALID_URL', `Only http and https can be fetched, not ${url.protocol}`);
  }
  if (url.username !== '' || url.password !== '') {
    throw new WebRequestError('INVALID_URL', 'The address must not hold a user name or a password.');
  }
  return url;
}
