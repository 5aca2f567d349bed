import { authorizeAsUser, createPageVisitor, until } from '@gatehouse/testing';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { alice, authorizationUrl, bootstrap, browserApp } from './fixtures.ts';
import { type InProcessServer, startInProcess } from './in-process-server.ts';

let server: InProcessServer;
beforeAll(async () => {
  server = await startInProcess({ bootstrap });
});
afterAll(() => server.stop());

test('A client that repeats its PKCE challenge is audited once, and one without PKCE is not.', async () => {
  const visitor = createPageVisitor();
  const constant = {
    client_id: browserApp.clientId,
    redirect_uri: browserApp.redirectUri,
    code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
    code_challenge_method: 'S256',
  };
  for (const parameters of [{}, constant]) {
    for (let use = 0; use < 12; use += 1) {
      await authorizeAsUser(authorizationUrl(server.issuer, parameters), alice, visitor);
    }
  }
  const { audit } = server.identity;
  const reused = async () => {
    await audit.flush();
    return audit.read({ event: 'pkce_challenge_reused', limit: 10 });
  };
  await until(async () => (await reused()).length > 0);
  const entries = await reused();
  expect(entries).toMatchObject([{ clientId: browserApp.clientId, outcome: 'failure' }]);
  expect(entries[0]?.count ?? 1).toBe(1);
});
