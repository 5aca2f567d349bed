import { isIPv6 } from 'node:net';

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
