import { createPageVisitor } from '@gatehouse/testing';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { alice, authorizationUrl, basic, bootstrap, requestToken } from './fixtures.ts';
import { type InProcessServer, startInProcess } from './in-process-server.ts';

const application = { clientId: 'first-party', secureKey: 'firstPartyKey01234567' } as const;
const redirectUri = 'https://first.example/callback';

let server: InProcessServer;
beforeAll(async () => {
  const client = {
    ...application,
    name: 'First party',
    orgId: 'org-1',
    firstParty: true,
    grantTypes: ['authorization_code'],
    redirectUris: [redirectUri],
    scopes: ['openid', 'device:read', 'device:write'],
  };
  server = await startInProcess({
    bootstrap: { ...bootstrap, clients: [...bootstrap.clients, client] },
  });
});
afterAll(() => server.stop());

test('A first-party application gets the requested scopes without a consent page.', async () => {
  const visitor = createPageVisitor();
  const scope = 'openid device:read';
  const toSignIn = await visitor.get(
    authorizationUrl(server.issuer, {
      client_id: application.clientId,
      redirect_uri: redirectUri,
      scope,
    }),
  );
  const signIn = await visitor.get(toSignIn.location ?? '');
  const signedIn = await visitor.submit(signIn, alice);
  const { location = '' } = await visitor.get(signedIn.location ?? '');
  expect(location).toMatch(/^https:\/\/first\.example\/callback\?code=/);
  const { body } = await requestToken(
    server.issuer,
    {
      grant_type: 'authorization_code',
      code: new URL(location).searchParams.get('code') ?? '',
      redirect_uri: redirectUri,
    },
    { authorization: basic(application.clientId, application.secureKey) },
  );
  expect(body.scope).toBe(scope);
});
