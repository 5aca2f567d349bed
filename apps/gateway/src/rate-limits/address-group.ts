import { isIPv6 } from 'node:net';

const GROUPS = 8;

/**
 * Who counts as one address: an IPv4 address, or a /56 of IPv6, which is what one line commonly gets
 * (RL-02). Rotating within it gives nobody a new limit.
 */
export function addressGroup(address: string): string {
  return isIPv6(address) ? `${first56Bits(address)}/56` : address;
}

function first56Bits(address: string): string {
  const [head = '', tail] = address.split('%', 1)[0]?.split('::') ?? [];
  const left = head === '' ? [] : head.split(':');
  const right = tail === undefined || tail === '' ? [] : tail.split(':');
  // An IPv4 tail (64:ff9b::192.0.2.1) stands for two groups; both are past the first 56 bits.
  const missing = tail === undefined ? 0 : Math.max(0, GROUPS - left.length - right.length);
  const groups = [...left, ...Array.from({ length: missing }, () => '0'), ...right];
  const [a, b, c, d] = groups.map((group) => Number.parseInt(group, 16) || 0);
  return [a ?? 0, b ?? 0, c ?? 0, (d ?? 0) & 0xff00].map((group) => group.toString(16)).join(':');
}
