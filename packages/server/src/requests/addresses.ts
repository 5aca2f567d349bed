import type { IncomingMessage } from 'node:http';
import { BlockList, isIP, isIPv6 } from 'node:net';
import { LRUCache } from 'lru-cache';

/** The check of a list takes about 1 µs, and most requests have a known address. */
const KNOWN_ADDRESSES = 100;

/** Returns whether an address is in a list of addresses and CIDR ranges. */
export type AddressMatcher = (address: string) => boolean;

export function createAddressMatcher(entries: readonly string[]): AddressMatcher {
  if (entries.length === 0) {
    return () => false;
  }
  const list = new BlockList();
  for (const entry of entries) {
    const [network = '', prefix] = entry.split('/');
    const address = unmappedAddress(network);
    const [family, length] = isIPv6(address) ? (['ipv6', 128] as const) : (['ipv4', 32] as const);
    list.addSubnet(address, Number(prefix ?? length), family);
  }
  const known = new LRUCache<string, boolean>({
    max: KNOWN_ADDRESSES,
    memoMethod(address) {
      const family = isIP(address);
      return family !== 0 && list.check(address, family === 6 ? 'ipv6' : 'ipv4');
    },
  });
  return (address) => known.memo(address);
}

/** `::ffff:192.0.2.1` is 192.0.2.1. */
export function unmappedAddress(address: string): string {
  return address.startsWith('::ffff:') && isIP(address.slice(7)) === 4 ? address.slice(7) : address;
}

/**
 * The address of a caller of express. X-Forwarded-For is used as far as `trust proxy` names the
 * proxies that wrote it. If a trusted proxy forwards something that is not an address, the proxy's own
 * address is used. Such text must not enter the audit trail.
 */
export function expressAddress(request: IncomingMessage & { readonly ip?: string | undefined }) {
  const { ip = '', socket } = request;
  return unmappedAddress(isIP(ip) === 0 ? (socket.remoteAddress ?? '') : ip);
}

const GROUPS = 8;
const MAPPED = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/;

/**
 * Returns the group of addresses that shares one rate limit: an IPv4 address or an IPv6
 * /56, which providers commonly assign to one line. A client cannot get a new limit with another
 * address of its group. An IPv4-mapped address (`::ffff:192.0.2.1`) counts as IPv4.
 */
export function addressGroup(address: string): string {
  // Most addresses are IPv4, and the check for a colon is faster.
  if (!address.includes(':') || !isIPv6(address)) {
    return address;
  }
  // Without its zone, in the short form of RFC 5952, with an IPv4 tail in hexadecimal digits.
  const { hostname } = new URL(`http://[${address.split('%', 1)[0]}]`);
  const short = hostname.slice(1, -1);
  const mapped = MAPPED.exec(short);
  if (mapped !== null) {
    const [high = 0, low = 0] = mapped.slice(1).map((group) => Number.parseInt(group, 16));
    return [high >> 8, high & 255, low >> 8, low & 255].join('.');
  }
  const [left = [], right = []] = short.split('::').map((part) => part.split(':').filter(Boolean));
  const zeros = Array.from({ length: GROUPS - left.length - right.length }, () => '0');
  const [a, b, c, d = ''] = [...left, ...zeros, ...right];
  return `${a}:${b}:${c}:${(Number.parseInt(d, 16) & 0xff00).toString(16)}/56`;
}
