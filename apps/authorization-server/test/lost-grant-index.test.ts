// requires: redis-server
/** After a data loss without the index of the tokens of a grant, revocation must still work. */
import { createStore, type Store } from '@gatehouse/store';
import {
  authorizeAsUser,
  type Constellation,
  createPageVisitor,
  integrationEngines,
  startConstellation,
} from '@gatehouse/testing';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { alice, authorizationUrl, basic, requestToken, web } from './fixtures.ts';
import { bootstrap, introspect } from './page-fixtures.ts';

describe.each(integrationEngines)('without the index of the tokens of a grant, on %s', (engine) => {
  let system: Constellation;
  let store: Store;
  let issuer: string;

  beforeAll(async () => {
    system = await startConstellation({ engine, bootstrap });
    store = createStore(system.storeUrl);
    issuer = system.authorizationServerUrl;
  });
  afterAll(async () => {
    await store.close();
    await system.stop();
  });

  const redeem = (code: string) =>
    requestToken(issuer, {
      grant_type: 'authorization_code',
      code,
      redirect_uri: web.redirectUri,
    });

  /** Tokens of a grant whose index is lost. */
  async function issue() {
    const url = authorizationUrl(issuer, { scope: 'device:read openid' });
    const landing = await authorizeAsUser(url, alice, createPageVisitor());
    const code = landing.searchParams.get('code') ?? '';
    const { body } = await redeem(code);
    for (const userId of await store.members('users')) {
      const grants = await store.members(`user-grants:${userId}`);
      await store.delete(grants.map((grantId) => `grant-members:${grantId}`));
    }
    return { code, access: String(body.access_token), refresh: String(body.refresh_token) };
  }

  /** The replies of the gateway, introspection and userinfo for an access token. */
  async function seen(token: string) {
    const headers = { authorization: `Bearer ${token}` };
    const [gateway, userinfo] = await Promise.all([
      fetch(`${system.gatewayUrl}/api/device`, { headers }),
      fetch(`${issuer}/userinfo`, { headers }),
    ]);
    return [gateway.status, (await introspect(issuer, token)).active, userinfo.status];
  }

  /** The gateway may use a copy from up to 50 ms before the tombstone. */
  async function seenAtTheEnd(access: string) {
    const deadline = Date.now() + 1000;
    let last = await seen(access);
    while (last[0] === 200 && Date.now() < deadline) {
      last = await seen(access);
    }
    return last;
  }

  test('revoking a refresh token also revokes its access token', async () => {
    const { access, refresh } = await issue();
    expect(await seen(access)).toEqual([200, true, 200]);
    const revoked = await fetch(`${issuer}/revoke`, {
      method: 'POST',
      headers: { authorization: basic(web.clientId, web.secureKey) },
      body: new URLSearchParams({ token: refresh }),
    });
    expect([revoked.status, await seenAtTheEnd(access)]).toEqual([200, [401, false, 401]]);
    const again = await requestToken(issuer, {
      grant_type: 'refresh_token',
      refresh_token: refresh,
    });
    expect([again.status, again.body.error]).toEqual([400, 'invalid_grant']);
  });

  test('replaying a code revokes its tokens', async () => {
    const { access, code, refresh } = await issue();
    expect(await seen(access)).toEqual([200, true, 200]);
    expect((await redeem(code)).status).toBe(400);
    expect(await seenAtTheEnd(access)).toEqual([401, false, 401]);
    const refreshed = await requestToken(issuer, {
      grant_type: 'refresh_token',
      refresh_token: refresh,
    });
    expect([refreshed.status, refreshed.body.error]).toEqual([400, 'invalid_grant']);
  });
});
