import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import type { Request } from 'express';
import { ipKeyGenerator } from 'express-rate-limit';

/** One household or office gets a /56 as a rule: counting single addresses of it would count nothing. */
const IPV6_PREFIX_LENGTH = 56;

/**
 * Whom a request is counted for: its IPv4 address, or the /56 network of its IPv6 address; `::ffff:a.b.c.d` is
 * a.b.c.d. X-Forwarded-For counts as far as `trust proxy` names the proxies that wrote it; where one of them passed
 * on something that is no address, the proxy itself is counted.
 */
export function clientAddress(request: IncomingMessage): string {
  const { ip } = request as Partial<Request>;
  const peer = request.socket.remoteAddress ?? '';
  const address = ip !== undefined && isIP(ip) !== 0 ? ip : peer;
  return ipKeyGenerator(withoutZone(address), IPV6_PREFIX_LENGTH);
}

/** `fe80::1%eth0`: which interface of ours it came through does not matter. */
function withoutZone(address: string): string {
  return address.replace(/%.*$/, '');
}
