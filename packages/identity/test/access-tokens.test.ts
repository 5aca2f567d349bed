// requires: redis-server
import { randomUUID } from 'node:crypto';
import { expect, test } from '@jest/globals';
import { credentialKey, grantTombstoneKey, type Identity, type User } from '../src/index.ts';
import { MAXIMUM_RECORD_AGE_MILLISECONDS } from '../src/records/record.ts';
import { describeOnEngines, newClient } from './engines.ts';

const ISSUED_AT = 1_700_000_000;
const START = ISSUED_AT * 1000 + 1000;

describeOnEngines('access tokens', ({ openIdentity }) => {
  /**
   * An identity with a clock that the test sets, a client, a user, and tokens like the provider's.
   */
  async function prepare() {
    let now = START;
    const identity = openIdentity(() => now);
    const client = await identity.clients.save(
      newClient({ orgId: 'org-of-client', scopes: ['openid', 'device:read', 'device:write'] }),
    );
    // Written directly, because hashing a password would take longer than the test.
    const user: User = {
      userId: randomUUID(),
      username: 'alice',
      name: 'Alice',
      orgId: 'org-of-user',
      emailVerified: false,
      roles: [],
      enabled: true,
      notBefore: 0,
      passwordHash: 'none',
    };
    await identity.store.set(`user:${user.userId}`, JSON.stringify(user));
    const record = {
      kind: 'AccessToken',
      clientId: client.clientId,
      accountId: user.userId,
      scope: 'openid device:read',
      iat: ISSUED_AT,
      exp: ISSUED_AT + 7200,
    };
    const advance = (milliseconds: number) => {
      now += milliseconds;
    };
    return { identity, client, user, record, advance };
  }

  async function store(identity: Identity, record: unknown): Promise<string> {
    const token = randomUUID();
    const text = typeof record === 'string' ? record : JSON.stringify(record);
    await identity.store.set(credentialKey('AccessToken', identity.credentialHash(token)), text);
    return token;
  }

  test('a scope that is removed from a client is removed from its tokens', async () => {
    const { identity, client, record, advance } = await prepare();
    const token = await store(identity, record);
    await identity.clients.save({ ...client, scopes: ['openid'] });
    advance(MAXIMUM_RECORD_AGE_MILLISECONDS + 1);
    expect((await identity.verifyAccessToken(token))?.scopes).toEqual(new Set(['openid']));
  });

  test('a token is rejected if its grant is revoked, even if no index contains the token', async () => {
    const { identity, record, advance } = await prepare();
    const grantId = randomUUID();
    const known = await store(identity, { ...record, grantId });
    const unknown = await store(identity, { ...record, grantId });
    const other = await store(identity, { ...record, grantId: randomUUID() });
    expect(await identity.verifyAccessToken(known)).toBeDefined();
    await identity.store.set(grantTombstoneKey(grantId), '', 60);
    advance(MAXIMUM_RECORD_AGE_MILLISECONDS + 1);
    for (const token of [known, unknown]) {
      expect(await identity.verifyAccessToken(token)).toBeUndefined();
    }
    expect(await identity.verifyAccessToken(other)).toBeDefined();
  });

  test('a client limited to users of its organization loses the tokens of other users', async () => {
    const { identity, client, record, advance } = await prepare();
    const token = await store(identity, record);
    expect(await identity.verifyAccessToken(token)).toBeDefined();
    await identity.clients.save({ ...client, ownOrganizationOnly: true });
    advance(MAXIMUM_RECORD_AGE_MILLISECONDS + 1);
    expect(await identity.verifyAccessToken(token)).toBeUndefined();
  });

  test('a token of a user identifies the user and the organization of the user', async () => {
    const { identity, client, user, record } = await prepare();
    const token = await store(identity, record);
    expect(await identity.verifyAccessToken(token)).toEqual({
      clientId: client.clientId,
      orgId: 'org-of-user',
      userId: user.userId,
      subject: user.userId,
      user: expect.objectContaining({ userId: user.userId }),
      signIn: expect.anything(),
      scopes: new Set(['openid', 'device:read']),
      resource: undefined,
    });
  });

  test('a token of a client identifies the client', async () => {
    const { identity, client, record } = await prepare();
    const { accountId: _none, ...own } = { ...record, kind: 'ClientCredentials' };
    expect(await identity.verifyAccessToken(await store(identity, own))).toMatchObject({
      orgId: 'org-of-client',
      userId: undefined,
      subject: client.clientId,
    });
    const { scope: _unscoped, ...unscoped } = own;
    for (const record_ of [unscoped, { ...own, scope: '' }, { ...own, scope: ' ' }]) {
      const principal = await identity.verifyAccessToken(await store(identity, record_));
      expect(principal?.scopes).toEqual(new Set());
    }
  });

  test('a token is rejected if it was never issued, is empty or is huge', async () => {
    const { identity } = await prepare();
    for (const token of ['', 'unknown', 'null', '__proto__', 'x'.repeat(100_000), '\0', '*']) {
      expect(await identity.verifyAccessToken(token)).toBeUndefined();
    }
  });

  test('a token is rejected exactly from its expiry on', async () => {
    const { identity, record, advance } = await prepare();
    const token = await store(identity, record);
    advance(7200 * 1000 - 1001);
    expect(await identity.verifyAccessToken(token)).toBeDefined();
    advance(1);
    expect(await identity.verifyAccessToken(token)).toBeUndefined();
  });

  test('the tokens of a user are rejected if the user is disabled, deleted or revoked', async () => {
    const { identity, user, record, advance } = await prepare();
    const token = await store(identity, record);
    const key = `user:${user.userId}`;
    for (const changed of [{ enabled: false }, { notBefore: ISSUED_AT }]) {
      await identity.store.set(key, JSON.stringify(user));
      advance(50);
      expect(await identity.verifyAccessToken(token)).toBeDefined();
      await identity.store.set(key, JSON.stringify({ ...user, ...changed }));
      advance(50);
      expect(await identity.verifyAccessToken(token)).toBeUndefined();
    }
    await identity.store.delete([key]);
    advance(50);
    expect(await identity.verifyAccessToken(token)).toBeUndefined();
  });

  const otherKinds = ['RefreshToken', 'AuthorizationCode', 'Session', 'Grant', 'accesstoken', ''];
  test.each(otherKinds)('a record of the kind %j is not an access token', async (kind) => {
    const { identity, record } = await prepare();
    const token = await store(identity, { ...record, kind });
    expect(await identity.verifyAccessToken(token)).toBeUndefined();
  });

  test.each([[['a']], [null], ['']])('a token with the audience %j is rejected', async (aud) => {
    const { identity, record } = await prepare();
    const token = await store(identity, { ...record, aud });
    expect(await identity.verifyAccessToken(token)).toBeUndefined();
  });
});
