import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { alice, basic, requestToken } from './fixtures.ts';
import {
  full,
  grantsBootstrap,
  other,
  refreshing,
  requestPlatformToken,
} from './grants-fixtures.ts';
import { type InProcessServer, startInProcess } from './in-process-server.ts';

let server: InProcessServer;
beforeAll(async () => {
  server = await startInProcess({ bootstrap: grantsBootstrap });
});
afterAll(() => server.stop());

/** The newest entry of an issued token. */
async function issued() {
  await server.identity.audit.flush();
  const [entry] = await server.identity.audit.read({ event: 'token_issued', limit: 1 });
  return entry;
}

const scope = 'device:read';

test('The audit trail has the client and the scope of a token of a machine.', async () => {
  // The fast path leaves a request with another parameter to the provider.
  const request = { grant_type: 'client_credentials', scope, resource_owner: 'none' };
  await requestToken(server.issuer, request, {
    authorization: basic(other.clientId, other.secureKey),
  });
  expect(await issued()).toMatchObject({
    grant: 'client_credentials',
    clientId: other.clientId,
    scope,
  });
});

test('The audit trail has the scope of tokens that the platform endpoint refreshed.', async () => {
  const headers = { authorization: basic(other.clientId, other.secureKey) };
  const grant = { grant_type: 'client_credentials' };
  const { body } = await requestPlatformToken(server.issuer, grant, headers);
  await requestPlatformToken(server.issuer, refreshing(body.refresh_token, scope), headers);
  expect(await issued()).toMatchObject({
    grant: 'refresh_token',
    clientId: other.clientId,
    scope,
  });
});

test('The audit trail has the user and the scope of a token for a password.', async () => {
  await requestToken(
    server.issuer,
    { grant_type: 'password', username: alice.username, password: alice.password, scope },
    { authorization: basic(full.clientId, full.secureKey) },
  );
  const user = await server.identity.users.findByUsername(alice.username);
  expect(await issued()).toMatchObject({
    grant: 'password',
    clientId: full.clientId,
    userId: user?.userId,
    scope,
  });
});
