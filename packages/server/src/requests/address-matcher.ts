import { BlockList, isIP } from 'node:net';

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
