/** Libraries for Python. Their programs (`applications/`) read commands, and a visitor signs in. */
import { authorizeAsUser } from '@gatehouse/testing';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { alice, identityScopes, secureKey, startServerFor } from './sign-in-and-allow.ts';
import { type Application, startApplication } from './start-application.ts';

const PORT = '9012';
const libraries = [
  // Authlib repeats the scope of the authorization request when it refreshes.
  { library: 'authlib-session', refreshes: ['refresh', 'refresh_with_scope'] },
  { library: 'requests-oauthlib', refreshes: ['refresh'] },
];
const system = await startServerFor(
  libraries.map(({ library }) => ({
    clientId: library,
    grantTypes: ['authorization_code', 'refresh_token', 'client_credentials'],
    scopes: [...identityScopes, 'device:read'],
    redirectUris: [`http://localhost:${PORT}/cb`],
  })),
);

describe.each(libraries)('$library', ({ library, refreshes }) => {
  let application: Application;
  beforeAll(async () => {
    application = await startApplication(['/usr/bin/python3', `${library}.py`], {
      ...{ CLIENT_ID: library, CLIENT_SECRET: secureKey, PORT },
      ISSUER: system.authorizationServerUrl,
    });
  });
  afterAll(() => application.stop());

  test('signs a user in, and refreshes the tokens', async () => {
    const { uri } = await application.ask('authorize');
    const back = await authorizeAsUser(String(uri), alice);
    const tokens = await application.ask(`redeem ${back.href}`);
    expect(String(tokens.scope)).toContain('offline_access');
    const text = expect.any(String);
    expect(tokens).toMatchObject({ token_type: 'Bearer', refresh_token: text, id_token: text });
    for (const command of refreshes) {
      const user = await application.ask('userinfo');
      expect(user).toMatchObject({ name: alice.name, email: alice.email });
      expect(await application.ask(command)).toMatchObject({ refresh_token: text });
    }
    expect(await application.ask('userinfo')).toMatchObject({ email: alice.email });
  });

  test('gets a token for a machine', async () => {
    const token = await application.ask('client_credentials');
    expect(token).toMatchObject({ token_type: 'Bearer' });
  });
});
