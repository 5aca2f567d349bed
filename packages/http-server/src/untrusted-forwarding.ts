import type { IncomingMessage } from 'node:http';
import { type AddressMatcher, unmappedAddress } from './address-matcher.ts';
import type { Logger } from './logger.ts';

/**
 * Warns once in the life of a process when a peer outside `TRUSTED_PROXIES` sends `X-Forwarded-For`: a proxy that was
 * not configured makes all callers behind it one address, for limits, allow lists and the audit trail.
 */
export function createForwardingCheck(
  isTrustedProxy: AddressMatcher,
  logger: Logger,
): (request: IncomingMessage) => void {
  let hasWarned = false;
  return ({ headers, socket }) => {
    if (hasWarned || headers['x-forwarded-for'] === undefined) {
      return;
    }
    const peer = unmappedAddress(socket.remoteAddress ?? '');
    if (isTrustedProxy(peer)) {
      return;
    }
    hasWarned = true;
    const advice =
      'If this is your proxy, add its address to TRUSTED_PROXIES: otherwise all callers behind it count as one.';
    logger.warn(
      { peer },
      `X-Forwarded-For of an untrusted peer is ignored. ${advice} This is reported once.`,
    );
  };
}
