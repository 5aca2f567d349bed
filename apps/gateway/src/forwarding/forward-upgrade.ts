import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { observedRequest } from '@gatehouse/server';
import type { VerifiedRequest } from '../authentication/authenticator.ts';
import { sent } from '../http/header-names.ts';
import type { Route } from '../routes/route.ts';
import type { UpgradedConnection } from '../upstream/upgrade-call.ts';
import type { Upstream } from '../upstream/upstream.ts';
import { forwardedHeaders } from './header-policy.ts';
import type { InternalTokenIssuer } from './internal-token.ts';
import { watchCredential } from './watch-credential.ts';

export interface UpgradeRequest {
  readonly message: IncomingMessage;
  readonly requestId: string;
  readonly route: Route;
  readonly upstream: string;
  readonly verified: VerifiedRequest;
  /** The normalized path. */
  readonly path: string;
  readonly clientAddress: string;
}

/** Opens the WebSocket to the upstream, with an internal token like any request. */
export type UpgradeForwarder = (request: UpgradeRequest) => Promise<UpgradedConnection>;

/** Headers of the handshake (RFC 6455 §4) that concern only the two endpoints. */
const handshakeHeaders = [
  'sec-websocket-key',
  'sec-websocket-version',
  'sec-websocket-protocol',
  'sec-websocket-extensions',
] as const;

const acceptHeaders = [
  'sec-websocket-accept',
  'sec-websocket-protocol',
  'sec-websocket-extensions',
] as const;

export function createUpgradeForwarder(dependencies: {
  readonly upstreams: ReadonlyMap<string, Upstream>;
  readonly issueInternalToken: InternalTokenIssuer;
  readonly publicUrl: string;
}): UpgradeForwarder {
  const { upstreams, issueInternalToken } = dependencies;
  const { host: publicHost, protocol } = new URL(dependencies.publicUrl);
  return async ({ message, requestId, route, upstream: name, verified, path, clientAddress }) => {
    const upstream = upstreams.get(name);
    if (upstream === undefined) {
      throw new Error(`Route ${route.operation} names an unknown upstream.`);
    }
    const headers = forwardedHeaders(message.headers, route.requestHeaders, {
      requestId,
      clientAddress,
      publicHost,
      publicScheme: protocol.slice(0, -1),
      internalToken: await issueInternalToken(verified.principal, name),
      contentType: undefined,
      traceparent: observedRequest(message).trace?.traceparent(),
    });
    for (const header of handshakeHeaders) {
      const value = message.headers[header];
      if (value !== undefined) {
        headers.push(header, value);
      }
    }
    return upstream.upgrade({
      method: 'GET',
      target: verified.query === '' ? path : `${path}?${verified.query}`,
      headers,
      timeoutMilliseconds: route.timeoutMilliseconds,
    });
  };
}

/** The headers of the 101 reply for the caller: name, value, … */
export function switchingHeaders({ headers }: UpgradedConnection): string[] {
  return [
    sent.connection,
    'Upgrade',
    'Upgrade',
    'websocket',
    ...acceptHeaders.flatMap((name) => {
      const value = headers[name];
      return typeof value === 'string' ? [name, value] : [];
    }),
  ];
}

/** Connects the two sockets until one closes or the credential is no longer valid. */
export function joinConnections(
  verified: VerifiedRequest,
  scope: string | undefined,
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
  watchCredential(verified, scope, callerSocket);
}
