import type { IncomingMessage } from 'node:http';
import type { Logger } from '../telemetry/logger.ts';
import { type AddressMatcher, unmappedAddress } from './address-matcher.ts';

/**
 * Warns once per process if a peer outside `TRUSTED_PROXIES` sends `X-Forwarded-For`. With a proxy
 * that is not configured, all clients share one address for limits, allow lists and audit trail.
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
    logger.warn(
      { peer },
      'Ignored X-Forwarded-For from an untrusted peer. If this peer is your proxy, add its address to TRUSTED_PROXIES. ' +
        'Otherwise all its callers share one rate limit.',
    );
  };
}
