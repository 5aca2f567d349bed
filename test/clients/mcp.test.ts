/** An MCP server behind the gateway, and a standard MCP client that signs in through the browser. */

import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { join } from 'node:path';
import { openIdentity } from '@gatehouse/identity';
import { createLogger, observeRequests } from '@gatehouse/server';
import { createStore } from '@gatehouse/store';
import {
  authorizeAsUser,
  createPageVisitor,
  freePort,
  startFaultProxy,
  until,
} from '@gatehouse/testing';
import { startSystem, temporaryFolder } from '@gatehouse/testing/suite';
import { afterAll, expect, test } from '@jest/globals';
import { createApp } from '../../apps/authorization-server/src/app.ts';
import { startWebsite } from '../../apps/authorization-server/test/website.ts';
import { root } from '../source-tree.ts';
import { linkDependencies } from './example-stack.ts';
import { alice } from './sign-in-and-allow.ts';
import { type Application, startApplication } from './start-application.ts';

/** The public address of the gateway must be known before the gateway starts. */
const front = await startFaultProxy();
afterAll(() => front.stop());
const gatewayUrl = `http://localhost:${front.port}`;
const serverUrl = `${gatewayUrl}/mcp`;

const example = join(root, 'examples/mcp-server');
const folder = temporaryFolder();
const readExample = (name: string) => readFileSync(join(example, name), 'utf8');
const mcpPort = await freePort();
writeFileSync(
  join(folder, 'routes.json'),
  readExample('routes.json').replace('127.0.0.1:8870', `127.0.0.1:${mcpPort}`),
);
const { resources } = JSON.parse(
  readExample('resources.json').replace('http://localhost:8844/mcp', serverUrl),
);

// Its guard refuses private addresses, so this server gets a resolver and a connector that lead to
// the website of the client.
const site = await startWebsite(['agent.example']);
const authorizationPort = await freePort();
const issuer = `http://localhost:${authorizationPort}`;

const system = await startSystem({
  engine: 'sqlite',
  apps: ['gateway'],
  bootstrap: {
    organizations: [{ id: 'acme', name: 'Acme' }],
    users: [{ ...alice, emailVerified: true, orgId: 'acme' }],
    resources,
    clientIdMetadata: { hosts: ['agent.example'] },
    clients: [
      {
        ...{ clientId: 'mcp-client', name: 'MCP client', orgId: 'acme', public: true },
        applicationType: 'native',
        grantTypes: ['authorization_code', 'refresh_token'],
        redirectUris: ['http://127.0.0.1/callback'],
        scopes: ['mcp:tools', 'device:read'],
      },
    ],
  },
  environment: {
    AUTHORIZATION_SERVER_URL: issuer,
    GATEWAY_URL: gatewayUrl,
    ROUTES_FILE: join(folder, 'routes.json'),
  },
});
const { masterKey } = system;
const store = createStore(system.storeUrl);
const identity = openIdentity({ store, masterKey });
const authorizationServer = createHttpServer(
  observeRequests(
    await createApp({
      ...{ identity, masterKey, issuer, securityProfile: 'compatible' },
      cookieKeys: ['a key of the cookies of this test'],
      outbound: { resolve: async () => ['93.184.215.14'], createConnector: site.dial },
    }),
    createLogger({ app: 'test', level: 'silent' }),
  ),
).listen(authorizationPort);
await once(authorizationServer, 'listening');
afterAll(async () => {
  authorizationServer.closeAllConnections();
  authorizationServer.close();
  await store.close();
});
front.lead(Number(new URL(system.member('gateway').url).port));

writeFileSync(join(folder, 'package.json'), readExample('package.json'));
writeFileSync(join(folder, 'server.mjs'), readExample('server.mjs'));
linkDependencies(join(folder, 'package.json'));
const server = await startApplication(
  [process.execPath, 'server.mjs'],
  {
    GATEWAY_URL: gatewayUrl,
    GATEWAY_JWKS_URL: `${system.member('gateway').operationsUrl}/.well-known/jwks.json`,
    PORT: String(mcpPort),
  },
  'listening',
  folder,
);
afterAll(() => server.stop());

const startClient = (environment: Readonly<Record<string, string>>) =>
  startApplication([process.execPath, 'mcp-client.mjs'], { SERVER_URL: serverUrl, ...environment });

/** The lines of JSON that a client has printed. */
const linesOf = (client: Application) =>
  client
    .output()
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line): Readonly<Record<string, unknown>> => JSON.parse(line));

async function printed(client: Application, member: string) {
  await until(() => linesOf(client).some((line) => line[member] !== undefined));
  return linesOf(client).findLast((line) => line[member] !== undefined)?.[member];
}

/** Opens the address that the client printed, signs in, and returns to the client. */
async function signIn(client: Application) {
  const address = String(await printed(client, 'address'));
  const back = await authorizeAsUser(address, alice, createPageVisitor());
  expect((await fetch(back)).status).toBe(200);
  return new URL(address).searchParams;
}

test('A registered client finds everything by itself, and calls a tool as the user.', async () => {
  const client = await startClient({ CLIENT_ID: 'mcp-client' });
  const parameters = await signIn(client);
  expect(parameters.get('resource')).toBe(serverUrl);
  expect(parameters.get('scope')).toBe('mcp:tools');
  expect(parameters.get('code_challenge_method')).toBe('S256');
  expect(await printed(client, 'tool')).toBe('alice');
  await client.stop();
});

test('A client that nobody registered describes itself by a document (CIMD).', async () => {
  const clientId = 'https://agent.example/client.json';
  site.handle = (_request, response) =>
    response.setHeader('Content-Type', 'application/json').end(
      JSON.stringify({
        ...{ client_id: clientId, client_name: 'Agent', token_endpoint_auth_method: 'none' },
        redirect_uris: ['http://127.0.0.1/callback'],
        grant_types: ['authorization_code', 'refresh_token'],
      }),
    );
  const client = await startClient({ CLIENT_METADATA_URL: clientId });
  expect((await signIn(client)).get('client_id')).toBe(clientId);
  expect(await printed(client, 'tool')).toBe('alice');
  await client.stop();
});

test('The token of a client opens the MCP server only, and its stream ends when it is revoked.', async () => {
  const client = await startClient({ CLIENT_ID: 'mcp-client' });
  await signIn(client);
  await printed(client, 'tool');
  const { stream, token } = await client.ask('stream');
  expect(stream).toBe(200);
  const headers = { authorization: `Bearer ${token}` };
  const devices = await fetch(`${gatewayUrl}/api/device`, { headers });
  expect(devices.status).toBe(401);
  await identity.revocations.token(String(token));
  await until(async () => (await printed(client, 'stream')) === 'ended');
  await client.stop();
});

test('A call without a token gets a challenge that names the metadata of the MCP server.', async () => {
  const reply = await fetch(serverUrl, { method: 'POST', body: '{}' });
  expect(reply.status).toBe(401);
  const metadata = `${gatewayUrl}/.well-known/oauth-protected-resource/mcp`;
  expect(reply.headers.get('www-authenticate')).toContain(`resource_metadata="${metadata}"`);
  expect(await (await fetch(metadata)).json()).toMatchObject({
    resource: serverUrl,
    authorization_servers: [issuer],
    scopes_supported: ['mcp:tools'],
  });
});
