/** What is known of an address before its name is resolved. */
import { isIP } from 'node:net';
import type { AddressPolicy } from './address-policy.js';
import { WebRequestError } from './web-request-error.js';
import { parseWebUrl } from './web-url.js';

/**
 * Why a request to the address is refused, whenever it is made; undefined where that cannot be known yet. The text does
 * not repeat the address.
 */
export function knownRefusal(url: string, isAllowedAddress: AddressPolicy): string | undefined {
  let parsed: URL;
  try {
    parsed = parseWebUrl(url);
  } catch (error) {
    if (error instanceof WebRequestError) return error.message;
    throw error;
  }
  const host = parsed.hostname.replace(/^\[|\]$/g, '');
  const address = /(?:^|\.)localhost\.?$/i.test(host) ? '127.0.0.1' : host;
  return isIP(address) === 0 || isAllowedAddress(address)
    ? undefined
    : 'The host is not on the public internet, and only public addresses may be requested.';
}
