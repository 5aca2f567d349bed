// requires: redis-server
import { clientSchema } from '@gatehouse/identity';
import { describe, expect, test } from '@jest/globals';
import { startOnEngines } from './server.ts';

const secureKey = 'aKeyOfAStoredClient0123';
const good = 'https://app.example/callback';
const uris = [
  ...[good, 'https://localhost/callback', 'https://127.0.0.1/callback'],
  ...['http://localhost:9999/callback', 'http://127.0.0.1:9999/callback'],
  ...['http://[::1]/callback', 'com.example.app:/callback'],
];
const cases = uris.flatMap((uri) =>
  (['web', 'native'] as const).flatMap((applicationType) =>
    (['authorization_code', 'implicit'] as const).map(
      (grantType) => [uri, applicationType, grantType] as const,
    ),
  ),
);

const systems = await startOnEngines();

/** A client is stored without the checks of the schema, as if an earlier release had accepted it. */
describe.each(systems)('redirect URIs of stored clients on $engine', ({ system }) => {
  /** What the server shows after `change`: a redirect, or a page. */
  async function requestWith(definition: object, change: object, parameters = {}) {
    const accepted = clientSchema.parse({ ...definition, redirectUris: [good] });
    const { secureKey: _key, ...client } = { ...accepted, ...change };
    await system.identity.clients.save(client, secureKey);
    const { clientId: client_id, redirectUris } = client;
    const request = { client_id, redirect_uri: redirectUris[0] ?? '', ...parameters };
    const { status, body } = await system.first.authorize(request);
    return { isPage: status === 400, body };
  }
  const ofAcme = { orgId: 'org-1', secureKey, scopes: ['device:read'] };

  test('a client whose address after sign-out is no longer accepted is rejected', async () => {
    const grantTypes = ['authorization_code'];
    const definition = { ...ofAcme, clientId: 'signs-out', name: 'Signs out', grantTypes };
    const change = { postLogoutRedirectUris: ['com.example.app:/signed-out'] };
    const { isPage, body } = await requestWith(definition, change);
    expect([isPage, body]).toEqual([true, expect.stringContaining('a registered redirect URI')]);
  });

  test.each(cases)(
    'the schema rejects %s of a %s application with %s exactly if the server does, with the same reason',
    async (uri, applicationType, grantType) => {
      const name = [uri, applicationType, grantType].join('-').replace(/[^\w]+/g, '-');
      const client = { ...ofAcme, clientId: name, name, applicationType, grantTypes: [grantType] };
      const { success, error } = clientSchema.safeParse({ ...client, redirectUris: [uri] });
      const type = { response_type: grantType === 'implicit' ? 'token' : 'code' };
      const { isPage, body } = await requestWith(client, { redirectUris: [uri] }, type);
      expect(isPage).toBe(!success);
      for (const { path, message } of error?.issues ?? []) {
        expect(path).toEqual(['redirectUris', 0]);
        expect(body).toContain(message);
      }
    },
  );
});
