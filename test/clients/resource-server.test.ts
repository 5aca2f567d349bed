/** mod_auth_openidc as a resource server: it introspects the token of each request. */
import { readFileSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { createServer, type Server } from 'node:tls';
import { freePort, makeCertificate } from '@gatehouse/testing';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { makeServerFolder, startApache } from './apache.ts';
import { alice, secureKey, startServerFor } from './sign-in-and-allow.ts';
import type { Application } from './start-application.ts';

const folder = makeServerFolder();
const system = await startServerFor([
  { clientId: 'mod-auth-openidc', grantTypes: [], resourceServer: true },
  {
    clientId: 'application',
    grantTypes: ['client_credentials', 'password'],
    scopes: ['openid', 'device:read'],
  },
]);
const port = await freePort();
let tlsProxy: Server;
let apache: Application;

beforeAll(async () => {
  tlsProxy = await startTlsProxy(Number(new URL(system.authorizationServerUrl).port));
  const { port: tlsPort } = tlsProxy.address() as { port: number };
  apache = await startApache('mod-auth-openidc-resource-server.conf', folder, {
    TLS_ADDRESS: `https://localhost:${tlsPort}`,
    CLIENT_ID: 'mod-auth-openidc',
    CLIENT_SECRET: secureKey,
    PORT: String(port),
  });
});
afterAll(async () => {
  await apache.stop();
  tlsProxy.close();
  rmSync(folder, { recursive: true });
});

async function startTlsProxy(target: number): Promise<Server> {
  const { certificateFile, keyFile } = makeCertificate(folder, ['localhost']);
  const files = { cert: readFileSync(certificateFile), key: readFileSync(keyFile) };
  const server = createServer(files, (secured) => {
    const plain = connect(target, 'localhost');
    secured.pipe(plain).pipe(secured);
    secured.on('error', () => plain.destroy());
    plain.on('error', () => secured.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return server;
}

async function requestToken(parameters: Readonly<Record<string, string>>): Promise<string> {
  const credentials = { client_id: 'application', client_secret: secureKey };
  const reply = await fetch(`${system.authorizationServerUrl}/token`, {
    method: 'POST',
    body: new URLSearchParams({ ...credentials, ...parameters }),
  });
  return ((await reply.json()) as { access_token: string }).access_token;
}

async function callWith(token: string) {
  const headers = { authorization: `Bearer ${token}` };
  const reply = await fetch(`http://localhost:${port}/api/`, { headers });
  return [reply.status, await reply.text()];
}

const { username, password } = alice;
describe('mod_auth_openidc as a resource server', () => {
  test.each([
    ['machine', { grant_type: 'client_credentials' }, /^application with device:read\n$/],
    ['user', { grant_type: 'password', username, password }, /^\S+ with .*device:read/],
  ])('identifies the %s to which a token was issued', async (_who, parameters, page) => {
    const reply = await callWith(await requestToken(parameters));
    expect(reply).toEqual([200, expect.stringMatching(page)]);
  });

  test.each(['unknown', 'eyJhbGciOiJub25lIn0.eyJzdWIiOiJhIn0.'])(
    'rejects a token that Gatehouse does not know: %s',
    async (token) => {
      expect((await callWith(token))[0]).toBe(401);
    },
  );
});
