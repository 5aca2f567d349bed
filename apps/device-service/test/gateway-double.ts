import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, type JWK, type JWTPayload, SignJWT } from 'jose';

/** Issues internal tokens and serves their key set, like a gateway. */
export interface GatewayDouble {
  readonly issuer: string;
  readonly jwksUrl: string;
  readonly publicJwk: JWK;
  /** The number of fetches of the key set. */
  fetches(): number;
  /** A valid token for `org-1`. `claims` overrides claims; `undefined` removes one. */
  token(claims?: JWTPayload, header?: Readonly<Record<string, unknown>>): Promise<string>;
  stop(): Promise<void>;
  /** Serves the key set again, on the same port. */
  restart(): Promise<void>;
}

export async function startGatewayDouble(): Promise<GatewayDouble> {
  const { publicKey, privateKey } = await generateKeyPair('EdDSA', { extractable: true });
  const publicJwk = { ...(await exportJWK(publicKey)), kid: 'key-1', alg: 'EdDSA', use: 'sig' };
  const keySet = JSON.stringify({ keys: [publicJwk] });
  let fetches = 0;
  const open = (port: number) =>
    listen(
      createServer((_request, response) => {
        fetches += 1;
        response.setHeader('Content-Type', 'application/json');
        response.end(keySet);
      }),
      port,
    );
  let server = await open(0);
  const { port } = server.address() as AddressInfo;
  const issuer = 'http://gateway.test';
  return {
    issuer,
    jwksUrl: `http://127.0.0.1:${port}/.well-known/jwks.json`,
    publicJwk,
    fetches: () => fetches,
    token: (claims = {}, header = {}) =>
      new SignJWT({ ...validClaims(issuer), ...claims })
        .setProtectedHeader({ alg: 'EdDSA', typ: 'at+jwt', kid: 'key-1', ...header })
        .sign(privateKey),
    stop: () => close(server),
    restart: async () => {
      server = await open(port);
    },
  };
}

export function validClaims(issuer: string): JWTPayload {
  const now = Math.floor(Date.now() / 1000);
  return {
    iss: issuer,
    aud: 'device-service',
    sub: 'subject-1',
    client_id: 'client-1',
    iat: now,
    exp: now + 60,
    jti: crypto.randomUUID(),
    org: 'org-1',
    scope: 'device:read device:write',
  };
}

function listen(server: Server, port: number): Promise<Server> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', () => resolve(server));
  });
}

function close(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}
