// requires: redis-server
import { authorizeAsUser, createPageVisitor, type PageVisitor } from '@gatehouse/testing';
import { startOnEachEngine } from '@gatehouse/testing/suite';
import { describe, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import { alice, authorizationUrl, basic, requestToken } from './fixtures.ts';
import { bob, bootstrap, rp } from './page-fixtures.ts';

const redirectUri = rp.redirectUris[1];
const asRelyingParty = { authorization: basic(rp.clientId, rp.secureKey) };
const withoutProfile = { clientId: 'no-profile', secureKey: 'noProfileKey012345678' } as const;

const systems = await startOnEachEngine({
  bootstrap: {
    ...bootstrap,
    clients: [
      ...bootstrap.clients,
      {
        ...withoutProfile,
        name: 'Without profile',
        orgId: 'org-1',
        firstParty: true,
        grantTypes: ['authorization_code', 'refresh_token'],
        redirectUris: [redirectUri],
        scopes: ['openid', 'device:read'],
      },
    ],
  },
  apps: ['authorization-server'],
});

describe.each(systems)('OpenID Connect parameters on $engine', ({ system }) => {
  const issuer = system.authorizationServerUrl;

  const urlOf = (parameters: Record<string, string>) =>
    authorizationUrl(issuer, {
      client_id: rp.clientId,
      redirect_uri: redirectUri,
      scope: 'openid',
      ...parameters,
    });

  async function redeem(landing: URL, authorization = asRelyingParty) {
    const form = {
      grant_type: 'authorization_code',
      code: landing.searchParams.get('code') ?? '',
      redirect_uri: redirectUri,
    };
    const { body } = await requestToken(issuer, form, authorization);
    const userinfo = await fetch(`${issuer}/userinfo`, {
      headers: { authorization: `Bearer ${body.access_token}` },
    });
    return {
      idToken: decodeJwt(body.id_token),
      userinfo: (await userinfo.json()) as Record<string, unknown>,
    };
  }

  const sessionOf = async (visitor: PageVisitor) =>
    (await redeem(await authorizeAsUser(urlOf({}), alice, visitor))).userinfo.sub;

  describe('prompt=select_account', () => {
    test('lets the signed-in user continue, or use another account', async () => {
      const visitor = createPageVisitor();
      const aliceId = await sessionOf(visitor);
      const url = urlOf({ prompt: 'select_account' });
      const start = await visitor.get(url);
      const choice = await visitor.get(start.location ?? '');
      // One element: a flexible box drops the space between text and an element.
      expect(choice.body).toContain('<span>Continue as <bdi>Alice Example</bdi></span>');
      expect(choice.body).toContain('Alice Example');
      const continued = await visitor.submit(choice, {});
      const landing = await visitor.get(continued.location ?? '');
      expect((await redeem(new URL(landing.location ?? ''))).userinfo.sub).toBe(aliceId);

      const again = await visitor.get((await visitor.get(url)).location ?? '');
      const other = await visitor.get(`${again.url}/account`);
      let page = await visitor.submit(other, bob);
      page = await visitor.get((await visitor.get(page.location ?? '')).location ?? '');
      page = await visitor.submit(page, { decision: 'allow' });
      page = await visitor.get(page.location ?? '');
      expect((await redeem(new URL(page.location ?? ''))).userinfo.sub).not.toBe(aliceId);
    });

    test('asks a user who is not signed in to sign in once', async () => {
      const landing = await authorizeAsUser(urlOf({ prompt: 'select_account' }), alice);
      expect(landing.searchParams.has('code')).toBe(true);
    });

    test('rejects a choice without the token of the form, or without a signed-in user', async () => {
      const visitor = createPageVisitor();
      await sessionOf(visitor);
      const url = urlOf({ prompt: 'select_account' });
      const choice = await visitor.get((await visitor.get(url)).location ?? '');
      expect((await visitor.submit(choice, { csrf: '' })).status).toBe(403);
      const stranger = createPageVisitor();
      const form = await stranger.get((await stranger.get(url)).location ?? '');
      const forged = { ...form, body: form.body.replace('/credentials"', '/choice"') };
      expect((await stranger.submit(forged, {})).status).toBe(403);
    });
  });

  describe('claims', () => {
    const wanted = JSON.stringify({
      userinfo: { name: { essential: true }, nonsense: null },
      id_token: { preferred_username: null, auth_time: { essential: true } },
    });

    test('are given where they were requested, after the user saw them on the consent page', async () => {
      const visitor = createPageVisitor();
      let page = await visitor.get(urlOf({ claims: wanted }));
      page = await visitor.submit(await visitor.get(page.location ?? ''), alice);
      page = await visitor.get((await visitor.get(page.location ?? '')).location ?? '');
      expect(page.body).toContain('See your name and username');
      page = await visitor.submit(page, { decision: 'allow' });
      page = await visitor.get(page.location ?? '');
      const { idToken, userinfo } = await redeem(new URL(page.location ?? ''));
      expect(userinfo).toEqual({ sub: idToken.sub, name: 'Alice Example' });
      expect(idToken).toMatchObject({
        preferred_username: alice.username,
        auth_time: expect.any(Number),
      });
      expect(idToken).not.toHaveProperty('name');
    });

    test('give a first-party application nothing beyond the scopes that it is registered for', async () => {
      const landing = await authorizeAsUser(
        urlOf({ claims: wanted, client_id: withoutProfile.clientId }),
        alice,
      );
      const authorization = basic(withoutProfile.clientId, withoutProfile.secureKey);
      const { idToken, userinfo } = await redeem(landing, { authorization });
      expect(userinfo).toEqual({ sub: idToken.sub });
      expect(idToken).not.toHaveProperty('preferred_username');
    });

    test('with an essential acr value are rejected', async () => {
      const claims = JSON.stringify({ id_token: { acr: { essential: true, values: ['gold'] } } });
      const { location } = await createPageVisitor().get(urlOf({ claims }));
      expect(location).toContain('error=unmet_authentication_requirements');
    });

    const malformed = ['{', '[]', '"x"', '{"userinfo":1}', '{}', '{"id_token":{"sub":"x"}}'];
    test.each([...malformed, '{"userinfo":{"name":true}}', '{"id_token":{"sub":[]}}'])(
      'that are malformed are rejected: %s',
      async (claims) => {
        const { location } = await createPageVisitor().get(urlOf({ claims }));
        expect(location).toContain('error=invalid_request');
      },
    );
  });
});
