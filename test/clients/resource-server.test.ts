/** mod_auth_openidc as a resource server: it introspects the token of each request. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServer, type Server } from 'node:tls';
import {
  type Constellation,
  freePort,
  makeCertificate,
  startConstellation,
} from '@gatehouse/testing';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { makeServerFolder, startApache } from './apache.ts';
import { alice, bootstrapOf, secureKey } from './sign-in-and-allow.ts';
import type { Application } from './start-application.ts';

const folder = makeServerFolder();
const certificateFolder = mkdtempSync(join(tmpdir(), 'gatehouse-certificate-'));
let system: Constellation;
let tlsProxy: Server;
let apache: Application;
let address: string;

beforeAll(async () => {
  system = await startConstellation({
    engine: 'sqlite',
    bootstrap: bootstrapOf([
      { clientId: 'mod-auth-openidc', grantTypes: [], resourceServer: true },
      {
        clientId: 'application',
        grantTypes: ['client_credentials', 'password'],
        scopes: ['openid', 'device:read'],
      },
    ]),
    apps: ['authorization-server'],
  });
  tlsProxy = await startTlsProxy(Number(new URL(system.authorizationServerUrl).port));
  const { port: tlsPort } = tlsProxy.address() as { port: number };
  const port = await freePort();
  address = `http://localhost:${port}/api/`;
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
  await system.stop();
  rmSync(folder, { recursive: true });
  rmSync(certificateFolder, { recursive: true });
});

async function startTlsProxy(target: number): Promise<Server> {
  const { certificateFile, keyFile } = makeCertificate(certificateFolder, ['localhost']);
  const server = createServer(
    { cert: readFileSync(certificateFile), key: readFileSync(keyFile) },
    (secured) => {
      const plain = connect(target, 'localhost');
      secured.pipe(plain).pipe(secured);
      secured.on('error', () => plain.destroy());
      plain.on('error', () => secured.destroy());
    },
  );
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return server;
}

async function requestToken(parameters: Readonly<Record<string, string>>): Promise<string> {
  const reply = await fetch(`${system.authorizationServerUrl}/token`, {
    method: 'POST',
    body: new URLSearchParams({
      client_id: 'application',
      client_secret: secureKey,
      ...parameters,
    }),
  });
  expect(reply.status).toBe(200);
  return ((await reply.json()) as { access_token: string }).access_token;
}

const call = (token: string) => fetch(address, { headers: { authorization: `Bearer ${token}` } });

describe('mod_auth_openidc as a resource server', () => {
  test('identifies the machine to which a token was issued', async () => {
    const reply = await call(await requestToken({ grant_type: 'client_credentials' }));
    expect([reply.status, await reply.text()]).toEqual([200, 'application with device:read\n']);
  });

  test('identifies the user to whom a token was issued', async () => {
    const { username, password } = alice;
    const reply = await call(await requestToken({ grant_type: 'password', username, password }));
    expect([reply.status, await reply.text()]).toEqual([
      200,
      expect.stringMatching(/^\S+ with .*device:read/),
    ]);
  });

  test.each(['unknown', 'eyJhbGciOiJub25lIn0.eyJzdWIiOiJhIn0.'])(
    'rejects a token that Gatehouse does not know: %s',
    async (token) => {
      expect((await call(token)).status).toBe(401);
    },
  );
});
