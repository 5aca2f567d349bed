import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import { type AddressMatcher, unmappedAddress } from '@gatehouse/server';
import { received } from './header-names.ts';

/**
 * The address of the caller: the peer or, if the peer is a trusted proxy, the nearest address in
 * X-Forwarded-For that is not a trusted proxy. Addresses to the left of it are not trustworthy.
 */
export function clientAddress(request: IncomingMessage, isTrustedProxy: AddressMatcher): string {
  let address = unmappedAddress(request.socket.remoteAddress ?? '');
  if (!isTrustedProxy(address)) {
    return address;
  }
  const chain = String(request.headers[received.forwardedFor] ?? '')
    .split(',')
    .reverse();
  for (const entry of chain) {
    const next = unmappedAddress(entry.trim());
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
