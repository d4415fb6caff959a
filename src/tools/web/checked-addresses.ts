/**
 * From a host to the addresses that a connection may use.
 *
 * What is returned is what is connected to: nothing resolves the name again, so an answer of the name service that
 * changes between the check and the connection changes nothing.
 */
import type { LookupAddress } from 'node:dns';
import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import type { AddressPolicy } from './address-policy.js';
import { WebRequestError } from './web-request-error.js';

/** All addresses of a name; rejects where there are none. */
export type ResolveHost = (hostname: string) => Promise<readonly LookupAddress[]>;

/** Asks the operating system, as any program on the host does. */
export const resolveBySystem: ResolveHost = (hostname) => lookup(hostname, { all: true, verbatim: true });

/**
 * The addresses of the URL's host, all of them allowed.
 *
 * @throws {WebRequestError} ADDRESS_REFUSED where one is not, CONNECTION_FAILED where there is none.
 */
export async function checkedAddresses(
  url: URL,
  isAllowedAddress: AddressPolicy,
  resolve: ResolveHost,
): Promise<readonly LookupAddress[]> {
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const family = isIP(host);
  const addresses = family === 0 ? await resolved(host, resolve) : [{ address: host, family }];
  // One forbidden address is enough: a name of the public web has none.
  if (!addresses.every(({ address }) => isAllowedAddress(address))) {
    throw new WebRequestError(
      'ADDRESS_REFUSED',
      `${url.hostname} is not on the public internet, and only public addresses may be requested.`,
    );
  }
  return addresses;
}

async function resolved(host: string, resolve: ResolveHost): Promise<readonly LookupAddress[]> {
  let addresses: readonly LookupAddress[];
  try {
    addresses = await resolve(host);
  } catch (error) {
    throw new WebRequestError('CONNECTION_FAILED', `The name ${host} does not resolve.`, { cause: error });
  }
  if (addresses.length > 0) return addresses;
  throw new WebRequestError('CONNECTION_FAILED', `The name ${host} has no address.`);
}
