// requires: redis-server

import { createHash } from 'node:crypto';
import { authorizeAsUser, createPageVisitor, startConstellation } from '@gatehouse/testing';
import { startOnEachEngine } from '@gatehouse/testing/suite';
import { describe, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import { alice, authorizationUrl, bootstrap as base, requestToken, web } from './fixtures.ts';
import { openPage } from './page-fixtures.ts';

const carol = { username: 'carol', password: 'carol has a long password' };
const bootstrap = {
  ...base,
  users: [
    ...base.users,
    {
      ...carol,
      name: 'Carol Example',
      givenName: 'Carol',
      familyName: 'Example',
      orgId: 'org-1',
      email: 'carol@example.com',
      emailVerified: true,
      roles: ['admin', 'plant 7'],
    },
  ],
};

const ofScope = {
  profile: {
    name: 'Carol Example',
    given_name: 'Carol',
    family_name: 'Example',
    preferred_username: 'carol',
    updated_at: expect.any(Number),
  },
  email: { email: 'carol@example.com', email_verified: true },
  groups: { groups: ['admin', 'plant 7'], roles: ['admin', 'plant 7'], org: 'org-1' },
} as const;
const scopes = Object.keys(ofScope) as readonly (keyof typeof ofScope)[];
const names = scopes.flatMap((scope) => Object.keys(ofScope[scope]));

const verifier = 'v'.repeat(43);
const challenge = {
  code_challenge: createHash('sha256').update(verifier).digest('base64url'),
  code_challenge_method: 'S256',
};

/** The claims about the user in the ID token and in the reply of the userinfo endpoint. */
async function claimsFor(
  issuer: string,
  scope: string,
  user: typeof carol = carol,
  parameters: Readonly<Record<string, string>> = {},
) {
  const url = authorizationUrl(issuer, { scope, ...challenge, ...parameters });
  const landing = await authorizeAsUser(url, user);
  const { body } = await requestToken(issuer, {
    grant_type: 'authorization_code',
    code: landing.searchParams.get('code') ?? '',
    code_verifier: verifier,
    redirect_uri: web.redirectUri,
  });
  const headers = { authorization: `Bearer ${body.access_token}` };
  const userinfo = await (await fetch(`${issuer}/userinfo`, { headers })).json();
  return { idToken: personal(decodeJwt(body.id_token)), userinfo: personal(userinfo) };
}

function personal(claims: unknown) {
  return Object.fromEntries(Object.entries(claims ?? {}).filter(([name]) => names.includes(name)));
}

const systems = await startOnEachEngine({ bootstrap, apps: ['authorization-server'] });

describe.each(systems)('claims of users on $engine', ({ system }) => {
  const issuer = system.authorizationServerUrl;

  test('discovery lists their scopes and names', async () => {
    const reply = await fetch(`${issuer}/.well-known/openid-configuration`);
    const metadata = (await reply.json()) as Record<string, readonly string[]>;
    expect(metadata.scopes_supported).toEqual(expect.arrayContaining([...scopes]));
    expect(metadata.claims_supported).toEqual(expect.arrayContaining(['sub', ...names]));
  });

  test.each(scopes)('the scope %s gives its claims and no others', async (scope) => {
    const { idToken, userinfo } = await claimsFor(issuer, `openid ${scope}`);
    expect(idToken).toEqual(ofScope[scope]);
    expect(userinfo).toEqual(ofScope[scope]);
  });

  test('without their scopes, they are in no token', async () => {
    expect(await claimsFor(issuer, 'openid')).toEqual({ idToken: {}, userinfo: {} });
  });

  test('a user without an address and roles has no email claim and empty lists', async () => {
    const expected = {
      name: 'Alice Example',
      preferred_username: 'alice',
      updated_at: expect.any(Number),
      groups: [],
      roles: [],
      org: 'org-1',
    };
    const { idToken, userinfo } = await claimsFor(issuer, 'openid profile email groups', alice);
    expect([idToken, userinfo]).toEqual([expected, expected]);
  });

  test('the account page shows the address and the roles', async () => {
    const page = await openPage(createPageVisitor(), `${issuer}/account`, carol);
    expect(page.body).toContain('carol@example.com');
    expect(page.body).toContain('admin, plant 7');
    expect(page.body).not.toContain('not verified');
    const other = await openPage(createPageVisitor(), `${issuer}/account`, alice);
    expect(other.body).not.toContain('Roles');
  });
});

test('the strict profile keeps personal data out of ID tokens', async () => {
  const system = await startConstellation({
    engine: 'sqlite',
    bootstrap,
    apps: ['authorization-server'],
    environment: { SECURITY_PROFILE: 'strict' },
  });
  const issuer = system.authorizationServerUrl;
  const scope = `openid ${scopes.join(' ')}`;
  const wanted = JSON.stringify({ id_token: { email: null, name: { essential: true } } });
  const released = [
    await claimsFor(issuer, scope),
    await claimsFor(issuer, scope, carol, { claims: wanted }),
  ];
  await system.stop();
  for (const { idToken, userinfo } of released) {
    expect(idToken).toEqual({});
    expect(userinfo).toEqual({ ...ofScope.profile, ...ofScope.email, ...ofScope.groups });
  }
});
