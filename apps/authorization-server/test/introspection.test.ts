// requires: redis-server
import { createXAccessTokens, openIdentity } from '@gatehouse/identity';
import { createStore } from '@gatehouse/store';
import { startOnEachEngine } from '@gatehouse/testing/suite';
import { describe, expect, test } from '@jest/globals';
import { alice, basic, browserApp, odd, requestToken, resourceServer, web } from './fixtures.ts';
import { grantsBootstrap, requestPlatformToken, signInAsAlice } from './grants-fixtures.ts';

const asWeb = { authorization: basic(web.clientId, web.secureKey) };
const asResources = { authorization: basic(resourceServer.clientId, resourceServer.secureKey) };

const systems = await startOnEachEngine({
  bootstrap: grantsBootstrap,
  apps: ['authorization-server'],
});

describe.each(systems)('introspection on $engine', ({ system }) => {
  const issuer = system.authorizationServerUrl;

  async function introspect(token: string, headers: Record<string, string> = asResources) {
    const reply = await fetch(`${issuer}/introspect`, {
      method: 'POST',
      headers,
      body: new URLSearchParams({ token }),
    });
    return { status: reply.status, body: (await reply.json()) as Record<string, unknown> };
  }

  const inactive = { status: 200, body: { active: false } };

  test('of an unknown token or one in the form of a JWT is inactive', async () => {
    const { id_token: idToken } = await signInAsAlice(issuer, 'openid');
    for (const token of ['unknown', idToken, 'eyJhbGciOiJub25lIn0.e30.']) {
      expect(await introspect(token)).toEqual(inactive);
    }
  });

  test('names the subject, the audience and the organization of a machine', async () => {
    const grant = { grant_type: 'client_credentials', scope: 'device:read' };
    const platform = (await requestPlatformToken(issuer, grant, asWeb)).body;
    const { body } = await requestToken(issuer, grant);
    for (const token of [body.access_token, platform.access_token, platform.refresh_token]) {
      expect((await introspect(token)).body).toMatchObject({
        active: true,
        sub: web.clientId,
        client_id: web.clientId,
        aud: issuer,
        iss: issuer,
        org: 'org-1',
        scope: 'device:read',
      });
    }
    expect((await introspect(body.access_token)).body).not.toHaveProperty('username');
  });

  test('names the username and the organization of a user', async () => {
    const tokens = await signInAsAlice(issuer, 'openid device:read');
    for (const token of [tokens.access_token, tokens.refresh_token]) {
      const { body } = await introspect(token);
      expect(body).toMatchObject({
        active: true,
        username: alice.username,
        client_id: web.clientId,
        aud: issuer,
        org: 'org-1',
      });
      expect(body.sub).not.toBe(web.clientId);
    }
  });

  test('tells an application about a user only what the scopes of its token release', async () => {
    const members = async (scope: string) => {
      const tokens = await signInAsAlice(issuer, scope);
      const { body } = await introspect(tokens.access_token, asWeb);
      expect(body.active).toBe(true);
      return [body.username, body.org];
    };
    expect(await members('openid device:read')).toEqual([undefined, undefined]);
    expect(await members('openid profile')).toEqual([alice.username, undefined]);
    expect(await members('openid groups')).toEqual([undefined, 'org-1']);
  });

  test('describes an X-Access-Token to resource servers and its own client', async () => {
    const store = createStore(system.storeUrl);
    try {
      const identity = openIdentity({ store, masterKey: system.masterKey });
      const tokens = createXAccessTokens({ ...identity, now: Date.now });
      const token = await tokens.issue({ clientId: web.clientId }, 600);
      for (const caller of [asResources, asWeb]) {
        const { body } = await introspect(token, caller);
        expect(body).toEqual({
          active: true,
          token_type: 'X-Access-Token',
          sub: web.clientId,
          client_id: web.clientId,
          aud: issuer,
          iss: issuer,
          org: 'org-1',
          scope: 'device:read device:write device:log device:report',
          iat: expect.any(Number),
          exp: expect.any(Number),
        });
        expect(Number(body.exp) - Date.now() / 1000).toBeGreaterThan(590);
      }
      const asOdd = { authorization: basic(odd.clientId, odd.secureKey) };
      expect(await introspect(token, asOdd)).toEqual(inactive);
      const anonymous = await fetch(`${issuer}/introspect`, {
        method: 'POST',
        body: new URLSearchParams({ token, client_id: browserApp.clientId }),
      });
      expect(await anonymous.json()).not.toMatchObject({ active: true });
      const wrong = { authorization: basic(web.clientId, 'a wrong secret 0123456789') };
      expect((await introspect(token, wrong)).status).toBe(401);
      await identity.clients.update(web.clientId, (client) => ({ ...client, enabled: false }));
      expect((await tokens.verify(token)) ?? 'revoked').toBe('revoked');
      await identity.clients.update(web.clientId, (client) => ({ ...client, enabled: true }));
    } finally {
      await store.close();
    }
  });

  test('ends with /revoke, which replies with an empty JSON object', async () => {
    const { body } = await requestToken(issuer, { grant_type: 'client_credentials' });
    for (const token of [body.access_token, 'unknown']) {
      const reply = await fetch(`${issuer}/revoke`, {
        method: 'POST',
        headers: asWeb,
        body: new URLSearchParams({ token }),
      });
      expect([reply.status, reply.headers.get('content-type'), await reply.text()]).toEqual([
        200,
        'application/json;charset=UTF-8',
        '{}',
      ]);
    }
    expect(await introspect(body.access_token)).toEqual(inactive);
  });
});
