import type { IncomingHttpHeaders } from 'node:http';
import type { Duplex, Writable } from 'node:stream';
import type { VerifiedRequest } from '../authentication/verified-request.ts';
import { missingRight, type Route } from '../routes/route.ts';
import type { UpgradedConnection } from '../upstream/call.ts';

type RouteRights = Pick<Route, 'scope' | 'roles'>;

const handshakeHeaders = ['sec-websocket-protocol', 'sec-websocket-extensions'] as const;

/** Headers of the handshake (RFC 6455 §4) that concern only the two endpoints: name, value, … */
export function handshakeOf(headers: IncomingHttpHeaders): readonly string[] {
  return pick(headers, ['sec-websocket-key', 'sec-websocket-version', ...handshakeHeaders]);
}

/** The headers of the 101 reply for the caller: name, value, … */
export function switchingHeaders({ headers }: UpgradedConnection): string[] {
  const accepted = pick(headers, ['sec-websocket-accept', ...handshakeHeaders]);
  return ['Connection', 'Upgrade', 'Upgrade', 'websocket', ...accepted];
}

function pick(headers: IncomingHttpHeaders, names: readonly string[]): readonly string[] {
  return names.flatMap((name) => {
    const value = headers[name];
    return typeof value === 'string' ? [name, value] : [];
  });
}

/** Connects the two sockets until one closes or the credential no longer allows the route. */
export function joinConnections(
  verified: VerifiedRequest | undefined,
  route: RouteRights,
  [callerSocket, serviceSocket]: readonly [Duplex, Duplex],
  head: Buffer,
): void {
  for (const [one, other] of [
    [callerSocket, serviceSocket],
    [serviceSocket, callerSocket],
  ] as const) {
    one.once('close', () => other.destroy());
    one.on('error', () => other.destroy());
  }
  serviceSocket.write(head);
  callerSocket.pipe(serviceSocket);
  serviceSocket.pipe(callerSocket);
  watchCredential(verified, route, callerSocket);
}

/** A revocation takes effect within a second, even while a reply is open. */
const INTERVAL_MILLISECONDS = 900;

/**
 * Verifies the credential periodically while a stream is open. Closes the stream when the
 * credential is no longer valid or no longer allows the route, or when the store is unavailable.
 *
 * @param open emits `close` at its end
 */
export function watchCredential(
  verified: VerifiedRequest | undefined,
  route: RouteRights,
  open: Writable,
): void {
  const token = verified?.token;
  if (open.destroyed) {
    return;
  }
  const timer = setInterval(async () => {
    const principal = await token?.verify(token.text).catch(() => undefined);
    if (principal === undefined || missingRight(route, principal) !== undefined) {
      open.destroy();
    }
  }, INTERVAL_MILLISECONDS);
  open.once('close', () => clearInterval(timer));
}
