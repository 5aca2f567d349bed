// requires: redis-server
import { randomBytes } from 'node:crypto';
import { clientSchema, openIdentity } from '@gatehouse/identity';
import { createStore } from '@gatehouse/store';
import { startOnEachEngine } from '@gatehouse/testing/suite';
import { afterAll, describe, expect, test } from '@jest/globals';
import { authorizationUrl } from './fixtures.ts';

const uris = [
  'https://app.example/callback',
  'https://localhost/callback',
  'https://127.0.0.1/callback',
  'http://localhost:9999/callback',
  'http://127.0.0.1:9999/callback',
  'http://[::1]/callback',
  'com.example.app:/callback',
];
const cases = uris.flatMap((uri) =>
  (['web', 'native'] as const).flatMap((applicationType) =>
    (['authorization_code', 'implicit'] as const).map(
      (grantType) => [uri, applicationType, grantType] as const,
    ),
  ),
);

const systems = await startOnEachEngine({
  bootstrap: { organizations: [{ id: 'org-1', name: 'Example' }] },
  apps: ['authorization-server'],
});

/**
 * A client is stored without the checks of the schema, as if an earlier release had accepted it.
 */
describe.each(systems)('redirect URIs of stored clients on $engine', ({ system }) => {
  const identity = openIdentity({
    store: createStore(system.storeUrl),
    masterKey: system.masterKey,
  });
  afterAll(() => identity.store.close());

  /**
   * What the server shows in the browser: a redirect to the application or to the sign-in, or a
   * page.
   */
  async function requestWith(client_id: string, redirect_uri: string, grantType: string) {
    const response_type = grantType === 'implicit' ? 'token' : 'code';
    const url = authorizationUrl(system.authorizationServerUrl, {
      client_id,
      redirect_uri,
      response_type,
    });
    const reply = await fetch(url, { redirect: 'manual' });
    return { isPage: reply.status === 400, body: await reply.text() };
  }

  test('A client whose address after sign-out is no longer accepted is rejected.', async () => {
    const { secureKey: _key, ...client } = {
      ...clientSchema.parse({
        clientId: 'signs-out',
        name: 'Signs out',
        orgId: 'org-1',
        secureKey: randomBytes(32).toString('hex'),
        redirectUris: ['https://app.example/callback'],
        grantTypes: ['authorization_code'],
      }),
      postLogoutRedirectUris: ['com.example.app:/signed-out'],
    };
    await identity.clients.save(client, randomBytes(32).toString('hex'));
    const [redirectUri = ''] = client.redirectUris;
    const { isPage, body } = await requestWith('signs-out', redirectUri, 'authorization_code');
    expect(isPage).toBe(true);
    expect(body).toContain('a registered redirect URI');
  });

  test.each(cases)(
    'the schema rejects %s of a %s application with %s exactly if the server does, with the same reason',
    async (uri, applicationType, grantType) => {
      const clientId = [uri, applicationType, grantType].join('-').replace(/[^\w]+/g, '-');
      const secureKey = randomBytes(32).toString('hex');
      const definition = {
        clientId,
        name: clientId,
        orgId: 'org-1',
        applicationType,
        secureKey,
        redirectUris: [uri],
        grantTypes: [grantType],
        scopes: ['device:read' as const],
      };
      const { success, error } = clientSchema.safeParse(definition);
      const accepted = clientSchema.parse({ ...definition, redirectUris: [uris[0]] });
      const { secureKey: _key, ...client } = { ...accepted, redirectUris: [uri] };
      await identity.clients.save(client, secureKey);
      const { isPage, body } = await requestWith(clientId, uri, grantType);
      expect(isPage).toBe(!success);
      for (const { path, message } of error?.issues ?? []) {
        expect(path).toEqual(['redirectUris', 0]);
        expect(body).toContain(message);
      }
    },
  );
});
