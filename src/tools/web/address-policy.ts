/** Which IP addresses a request to the web may reach: those of the public internet, however they are written. */
import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

/** Decides by an IP address in text form; names are resolved before. */
export type AddressPolicy = (address: string) => boolean;

/** What IANA hands out as global unicast; around it lie only special purposes and unassigned space. */
const GLOBAL_UNICAST = ipaddr.IPv6.parseCIDR('2000::/3');
/** NAT64 with the well-known prefix (RFC 6052): the last 32 bits are the IPv4 address that is reached. */
const NAT64 = ipaddr.IPv6.parseCIDR('64:ff9b::/96');

/**
 * Whether the address is of the public internet. Loopback, private, link-local, shared (CGNAT), unique local, multicast,
 * documentation, tunnel and reserved ranges are not, nor is anything that is no IP address. IPv4-mapped and NAT64
 * addresses are judged by the IPv4 address that they hold.
 */
export function isPublicAddress(address: string): boolean {
  const parsed = parseAddress(address);
  if (parsed === undefined) return false;
  if (parsed instanceof ipaddr.IPv4) return parsed.range() === 'unicast';
  if (parsed.match(NAT64)) return isPublicAddress(parsed.toByteArray().slice(-4).join('.'));
  return parsed.match(GLOBAL_UNICAST) && parsed.range() === 'unicast';
}

/** An IPv4-mapped address comes back as IPv4. The ways to write an address that only some programs read are no addresses. */
function parseAddress(address: string): ipaddr.IPv4 | ipaddr.IPv6 | undefined {
  if (isIP(address) === 4) return ipaddr.IPv4.parse(address);
  // The URL parser writes IPv6 in hexadecimal throughout: `::8.8.8.8` would be read as an IPv4-mapped address.
  const url = `http://[${address}]/`;
  if (isIP(address) !== 6 || !URL.canParse(url)) return undefined;
  return ipaddr.process(new URL(url).hostname.slice(1, -1));
}
