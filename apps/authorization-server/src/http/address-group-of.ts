import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import { addressGroup } from '@gatehouse/server';
import type { Request } from 'express';

/**
 * The address group that a request counts for. X-Forwarded-For is used as far as `trust proxy`
 * names the proxies that wrote it. If a trusted proxy forwards something that is not an address,
 * the proxy's own address is used.
 */
export function addressGroupOf(request: IncomingMessage): string {
  const { ip } = request as Partial<Request>;
  const peer = request.socket.remoteAddress ?? '';
  return addressGroup(ip !== undefined && isIP(ip) !== 0 ? ip : peer);
}
