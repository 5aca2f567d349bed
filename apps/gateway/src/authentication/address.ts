import type { IncomingMessage } from 'node:http';
import { BlockList, isIP } from 'node:net';

/** Whether an address is in a list of addresses and CIDR ranges. */
export type AddressMatcher = (address: string) => boolean;

export function createAddressMatcher(entries: readonly string[]): AddressMatcher {
  if (entries.length === 0) {
    return () => false;
  }
  const list = new BlockList();
  for (const entry of entries) {
    const [network = '', prefix] = entry.split('/');
    const address = unmapped(network);
    const family = isIP(address) === 6 ? 'ipv6' : 'ipv4';
    if (prefix === undefined) {
      list.addAddress(address, family);
    } else {
      list.addSubnet(address, Number(prefix), family);
    }
  }
  return (address) => {
    const family = isIP(address);
    return family !== 0 && list.check(address, family === 6 ? 'ipv6' : 'ipv4');
  };
}

/**
 * Who the caller is: the peer, or, where the peer is a trusted proxy, the nearest address in X-Forwarded-For
 * that is none. Whatever stands left of it was written by a stranger and means nothing.
 */
export function clientAddress(request: IncomingMessage, isTrustedProxy: AddressMatcher): string {
  let address = unmapped(request.socket.remoteAddress ?? '');
  if (!isTrustedProxy(address)) {
    return address;
  }
  const chain = [request.headers['x-forwarded-for'] ?? []].flat().join(',').split(',').reverse();
  for (const entry of chain) {
    const next = unmapped(entry.trim());
    if (isIP(next) === 0) {
      return address;
    }
    address = next;
    if (!isTrustedProxy(address)) {
      return address;
    }
  }
  return address;
}

/** `::ffff:192.0.2.1` is 192.0.2.1. */
function unmapped(address: string): string {
  return address.startsWith('::ffff:') && isIP(address.slice(7)) === 4 ? address.slice(7) : address;
}
