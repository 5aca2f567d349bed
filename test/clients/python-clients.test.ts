/** Libraries for Python. Their programs (`applications/`) read commands, and a visitor signs in. */
import { authorizeAsUser, type Constellation, startConstellation } from '@gatehouse/testing';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { alice, bootstrapOf, identityScopes, secureKey } from './sign-in-and-allow.ts';
import { type Application, startApplication } from './start-application.ts';

const PORT = '9012';
const libraries = ['authlib-session', 'requests-oauthlib'];
/** Authlib repeats the scope of the authorization request when it refreshes. */
const refreshes = [
  ['authlib-session', 'refresh'],
  ['authlib-session', 'refresh_with_scope'],
  ['requests-oauthlib', 'refresh'],
] as const;

let system: Constellation;
const applications = new Map<string, Application>();

beforeAll(async () => {
  const clients = libraries.map((clientId) => ({
    clientId,
    grantTypes: ['authorization_code', 'refresh_token', 'client_credentials'],
    scopes: [...identityScopes, 'device:read'],
    redirectUris: [`http://localhost:${PORT}/cb`],
  }));
  system = await startConstellation({
    engine: 'sqlite',
    bootstrap: bootstrapOf(clients),
    apps: ['authorization-server'],
  });
  for (const name of libraries) {
    const application = await startApplication(['/usr/bin/python3', `${name}.py`], {
      ISSUER: system.authorizationServerUrl,
      CLIENT_ID: name,
      CLIENT_SECRET: secureKey,
      PORT,
    });
    applications.set(name, application);
  }
});
afterAll(async () => {
  await Promise.all([...applications.values()].map((application) => application.stop()));
  await system.stop();
});

const ask = (name: string, line: string) =>
  applications.get(name)?.ask(line) ?? Promise.reject(new Error(`${name} does not run.`));

describe('a library for Python', () => {
  test.each(libraries)('signs a user in: %s', async (name) => {
    const { uri } = await ask(name, 'authorize');
    const back = await authorizeAsUser(String(uri), alice);
    const tokens = await ask(name, `redeem ${back.href}`);
    expect(String(tokens.scope)).toContain('offline_access');
    expect(tokens).toMatchObject({
      token_type: 'Bearer',
      refresh_token: expect.any(String),
      id_token: expect.any(String),
    });
    expect(await ask(name, 'userinfo')).toMatchObject({ name: alice.name, email: alice.email });
  });

  test.each(refreshes)('refreshes the tokens of the user: %s, %s', async (name, command) => {
    expect(await ask(name, command)).toMatchObject({ refresh_token: expect.any(String) });
    expect(await ask(name, 'userinfo')).toMatchObject({ email: alice.email });
  });

  test.each(libraries)('gets a token for a machine: %s', async (name) => {
    expect(await ask(name, 'client_credentials')).toMatchObject({ token_type: 'Bearer' });
  });
});
