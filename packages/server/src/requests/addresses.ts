import { BlockList, isIP, isIPv6 } from 'node:net';

/** The check of a list takes about 1 µs, and most requests have a known address. */
const KNOWN_ADDRESSES = 1000;

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
    const family = isIP(address) === 6 ? 'ipv6' : 'ipv4';
    if (prefix === undefined) {
      list.addAddress(address, family);
    } else {
      list.addSubnet(address, Number(prefix), family);
    }
  }
  return remember((address) => {
    const family = isIP(address);
    return family !== 0 && list.check(address, family === 6 ? 'ipv6' : 'ipv4');
  });
}

function remember(matches: AddressMatcher): AddressMatcher {
  const known = new Map<string, boolean>();
  return (address) => {
    let isMatch = known.get(address);
    if (isMatch === undefined) {
      isMatch = matches(address);
      if (known.size >= KNOWN_ADDRESSES) {
        known.clear();
      }
      // A copy, because the address may be a part of a long header, which it would keep in memory.
      known.set(Buffer.from(address, 'latin1').toString('latin1'), isMatch);
    }
    return isMatch;
  };
}

/** `::ffff:192.0.2.1` is 192.0.2.1. */
export function unmappedAddress(address: string): string {
  return address.startsWith('::ffff:') && isIP(address.slice(7)) === 4 ? address.slice(7) : address;
}

const GROUPS = 8;

/**
 * Returns the group of addresses that shares one rate limit (RL-02): an IPv4 address or an IPv6
 * /56, which providers commonly assign to one line. A client cannot get a new limit with another
 * address of its group. An IPv4-mapped address (`::ffff:192.0.2.1`) counts as IPv4.
 */
export function addressGroup(address: string): string {
  // Most addresses are IPv4, and the check for a colon is faster.
  if (!address.includes(':') || !isIPv6(address)) {
    return address;
  }
  const groups = groupsOf(address);
  return ipv4Of(groups) ?? `${first56Bits(groups)}/56`;
}

/** Returns the eight groups of an IPv6 address, without its zone. */
function groupsOf(address: string): readonly number[] {
  const [head = '', tail] = (address.split('%', 1)[0] ?? '').split('::');
  const left = parseGroups(head);
  const right = parseGroups(tail ?? '');
  const missing = tail === undefined ? 0 : Math.max(0, GROUPS - left.length - right.length);
  return [...left, ...Array.from({ length: missing }, () => 0), ...right];
}

/** Groups of 16 bits. An IPv4 tail (`64:ff9b::192.0.2.1`) becomes two groups. */
function parseGroups(text: string): readonly number[] {
  return text.split(':').flatMap((group) => {
    if (group === '') {
      return [];
    }
    if (!group.includes('.')) {
      return [Number.parseInt(group, 16)];
    }
    const [a = 0, b = 0, c = 0, d = 0] = group.split('.').map(Number);
    return [a * 256 + b, c * 256 + d];
  });
}

function ipv4Of(groups: readonly number[]): string | undefined {
  const [a = 0, b = 0] = groups.slice(6);
  const isMapped = groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff;
  return isMapped ? [a >> 8, a & 255, b >> 8, b & 255].join('.') : undefined;
}

function first56Bits(groups: readonly number[]): string {
  const [a = 0, b = 0, c = 0, d = 0] = groups;
  return [a, b, c, d & 0xff00].map((group) => group.toString(16)).join(':');
}
