// requires: redis-server
/**
 * An attacker guesses the PKCE verifier of a captured code, and locks a known user out with wrong
 * passwords.
 */

import {
  authorizeAsUser,
  createPageVisitor,
  newPkce,
  type PageVisitor,
  postAs,
} from '@gatehouse/testing';
import { startOnEachEngine } from '@gatehouse/testing/suite';
import { describe, expect, test } from '@jest/globals';

const user = { username: 'attacked', password: 'a password that nobody guesses' };
const application = { clientId: 'application', redirectUri: 'https://attacked.example/callback' };
const machine = { clientId: 'attacked-machine', secureKey: 'Zr7Kq2Lw9Xn4Tb6Vp1Ms' };
const bootstrap = {
  organizations: [{ id: 'org-1', name: 'Example' }],
  clients: [
    {
      clientId: application.clientId,
      name: 'Application',
      orgId: 'org-1',
      public: true,
      grantTypes: ['authorization_code'],
      redirectUris: [application.redirectUri],
      scopes: ['device:read'],
    },
    {
      ...machine,
      name: 'Machine',
      orgId: 'org-1',
      grantTypes: ['password'],
      scopes: ['device:read'],
    },
  ],
  users: [{ ...user, name: 'Attacked', orgId: 'org-1' }],
};

const systems = await startOnEachEngine({
  bootstrap,
  apps: ['authorization-server'],
  environment: { TRUSTED_PROXIES: '127.0.0.0/8,::1', LOG_LEVEL: 'error' },
});

describe.each(systems)('guessing credentials on $engine', ({ system }) => {
  const { authorizationServerUrl: issuer } = system;

  function authorizationUrl(pkce: Readonly<Record<string, string>>): string {
    const query = new URLSearchParams({
      response_type: 'code',
      client_id: application.clientId,
      scope: 'device:read',
      redirect_uri: application.redirectUri,
      ...pkce,
    });
    return `${issuer}/authorize?${query}`;
  }

  const redeem = (code: string, verifier: string) =>
    fetch(`${issuer}/token`, {
      method: 'POST',
      body: new URLSearchParams({
        grant_type: 'authorization_code',
        code,
        code_verifier: verifier,
        client_id: application.clientId,
        redirect_uri: application.redirectUri,
      }),
    });

  test('revokes a captured code after a few of 30 wrong verifiers', async () => {
    const { verifier, pkce } = newPkce();
    const landing = await authorizeAsUser(authorizationUrl(pkce), user);
    const code = landing.searchParams.get('code') ?? '';
    expect(code).not.toBe('');
    const guesses = await Promise.all(
      Array.from({ length: 30 }, () => redeem(code, newPkce().verifier)),
    );
    expect(new Set(guesses.map(({ status }) => status))).toEqual(new Set([400]));
    expect((await redeem(code, verifier)).status).toBe(400);
  });

  /** Signs in on the account page. Returns whether it succeeded. */
  async function signsIn(visitor: PageVisitor): Promise<boolean> {
    let page = await visitor.get(`${issuer}/logout`);
    if (page.body.includes('/logout/confirm')) {
      await visitor.submit(page, { logout: 'yes' });
    }
    page = await visitor.get(`${issuer}/account`);
    while (page.location !== undefined) {
      page = await visitor.get(page.location);
    }
    const { status, location } = await visitor.submit(page, user);
    // After a failure, the browser returns to the sign-in page.
    return status === 303 && location?.includes('/sign-in/') === false;
  }

  test('with wrong passwords from other addresses does not lock out the browser of an earlier sign-in', async () => {
    const browser = createPageVisitor();
    expect(await signsIn(browser)).toBe(true);
    for (let i = 0; i < 30; i += 1) {
      const guess = { username: user.username, password: `guess number ${i}` };
      const from = { 'x-forwarded-for': `203.0.113.${i}` };
      await postAs(`${issuer}/token`, machine, { grant_type: 'password', ...guess }, from);
    }
    expect(await signsIn(createPageVisitor())).toBe(false);
    expect(await signsIn(browser)).toBe(true);
  });
});
