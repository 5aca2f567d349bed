// requires: redis-server
/** The sessions of users at the hosts in `browserHosts`, from codes as the authorization server stores them. */
import { hash, randomUUID } from 'node:crypto';
import { expect, test } from '@jest/globals';
import { browserClientId, credentialKey, grantTombstoneKey, type User } from '../src/index.ts';
import { MAXIMUM_RECORD_AGE_MILLISECONDS } from '../src/records/record.ts';
import { browserHostSchema } from '../src/settings/browser-host.ts';
import { describeOnEngines } from './engines.ts';

const NOW = 1_700_000_000;
const VERIFIER = 'a verifier that only the browser can compute';

describeOnEngines('browser sessions', ({ openIdentity }) => {
  async function prepare() {
    let now = NOW * 1000;
    const identity = openIdentity(() => now);
    const host = `${randomUUID()}.example`;
    const declared = { host, name: 'Reports', enabled: true };
    await identity.settings.apply({ browserHosts: [declared], lifetimes: { accessToken: 600 } });
    const user: User = {
      ...{ userId: randomUUID(), username: 'alice', name: 'Alice', orgId: 'org-of-user' },
      ...{ emailVerified: false, roles: [], enabled: true, notBefore: 0, passwordHash: 'none' },
    };
    await identity.store.set(`user:${user.userId}`, JSON.stringify(user));
    const clientId = browserClientId(host);
    const record = {
      ...{ kind: 'AuthorizationCode', clientId, accountId: user.userId, grantId: randomUUID() },
      ...{ redirectUri: `https://${host}/_gatehouse/callback`, codeChallengeMethod: 'S256' },
      ...{ codeChallenge: hash('sha256', VERIFIER, 'base64url'), iat: NOW, exp: NOW + 60 },
      ...{ authTime: NOW - 5, amr: ['pwd'] },
    };
    const expected = { clientId, redirectUri: record.redirectUri, verifier: VERIFIER };
    return {
      identity,
      record,
      advance(seconds: number) {
        now += seconds * 1000 + MAXIMUM_RECORD_AGE_MILLISECONDS + 1;
      },
      /** Stores a code, and redeems it. */
      async redeem(changed: object = {}, wanted: Partial<typeof expected> = {}) {
        const code = randomUUID();
        const key = credentialKey('AuthorizationCode', identity.credentialHash(code));
        await identity.store.set(key, JSON.stringify({ ...record, ...changed }));
        return identity.browserSessions.redeem(code, { ...expected, ...wanted });
      },
    };
  }

  test('a code becomes a session of the user, which no other verifier accepts', async () => {
    const { identity, record, redeem } = await prepare();
    const { token = '', principal } = (await redeem()) ?? {};
    expect(principal).toMatchObject({
      ...{ clientId: record.clientId, subject: record.accountId, orgId: 'org-of-user' },
      signIn: { authTime: NOW - 5, amr: ['pwd'] },
    });
    expect(await identity.browserSessions.verify(token)).toMatchObject({
      userId: record.accountId,
    });
    expect(await identity.verifyAccessToken(token)).toBeUndefined();
    expect(await identity.findTokenKind(token)).toBeUndefined();
  });

  test.each([
    ['for another client', { clientId: 'web' }, {}],
    ['for another address', { redirectUri: 'https://evil.example/' }, {}],
    ['with another verifier', {}, { verifier: `${VERIFIER}x` }],
    ['without PKCE', { codeChallenge: undefined, codeChallengeMethod: undefined }, {}],
    ['with a plain challenge', { codeChallenge: VERIFIER, codeChallengeMethod: 'plain' }, {}],
    ['that expired', { exp: NOW }, {}],
    ['of another kind', { kind: 'RefreshToken' }, {}],
    ['without a user', { accountId: undefined }, {}],
    ['of an unknown user', { accountId: 'nobody' }, {}],
    ['from before a revocation', { iat: -1 }, {}],
  ])('no session from a code %s', async (_name, changed, wanted) => {
    const { redeem } = await prepare();
    expect(await redeem(changed, wanted)).toBeUndefined();
    expect(await redeem()).toBeDefined();
  });

  test('a session ends after the lifetime of access tokens', async () => {
    const { identity, redeem, advance } = await prepare();
    const { token = '' } = (await redeem()) ?? {};
    advance(598);
    expect(await identity.browserSessions.verify(token)).toBeDefined();
    advance(2);
    expect(await identity.browserSessions.verify(token)).toBeUndefined();
  });

  test('a session ends with its grant, also if the index of the grant is lost', async () => {
    const { identity, record, redeem, advance } = await prepare();
    const { token = '' } = (await redeem()) ?? {};
    await identity.store.set(grantTombstoneKey(record.grantId), '', 600);
    advance(0);
    expect(await identity.browserSessions.verify(token)).toBeUndefined();
    expect(await redeem()).toBeUndefined();
  });
});

test.each([
  ...['Reports.example', 'https://reports.example', 'reports.example/', 'reports.example:443'],
  ...['reports.example/x', 'user@reports.example', '*.example', '', 'a b', 'a?b', '127.0.0.1:80'],
])('%p cannot be the host of an application', (host) => {
  expect(browserHostSchema.safeParse({ host, name: 'Reports' }).success).toBe(false);
});
