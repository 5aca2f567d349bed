// requires: redis-server
import { expect, test } from '@jest/globals';
import { credentialKey } from '../src/index.ts';
import { createXAccessTokens } from '../src/tokens/x-access-tokens.ts';
import { describeOnEngines, newClient } from './engines.ts';

/** Half a second after a whole one. Must be near the present, because the store expires indexes. */
const START = Math.floor(Date.now() / 1000) * 1000 + 500;

describeOnEngines('X-Access-Tokens', ({ openIdentity, openStore, storedText }) => {
  async function prepare(maximumLiveTokens = 1000) {
    let now = START;
    const identity = openIdentity(() => now);
    const secureKey = 'a secure key of some length';
    const client = await identity.clients.save(
      newClient({ scopes: ['device:read', 'openid'] }),
      secureKey,
    );
    const tokens = createXAccessTokens({ ...identity, now: () => now }, maximumLiveTokens);
    return {
      identity,
      client,
      secureKey,
      tokens,
      advance: (milliseconds: number) => {
        now += milliseconds;
      },
    };
  }

  test('a token identifies its client and has only its device scopes', async () => {
    const { client, tokens } = await prepare();
    expect(await tokens.verify(await tokens.issue(client, 60))).toEqual({
      clientId: client.clientId,
      orgId: client.orgId,
      userId: undefined,
      subject: client.clientId,
      scopes: new Set(['device:read']),
    });
  });

  test('a token is valid until the end of its lifetime', async () => {
    const { client, tokens, advance } = await prepare();
    const token = await tokens.issue(client, 60);
    advance(59_000);
    expect(await tokens.verify(token)).toBeDefined();
    advance(2_000);
    expect(await tokens.verify(token)).toBeUndefined();
  });

  test('neither kind of token is accepted as the other', async () => {
    const { identity, client, tokens } = await prepare();
    const token = await tokens.issue(client, 60);
    expect(await identity.verifyAccessToken(token)).toBeUndefined();
    const record = { kind: 'AccessToken', clientId: client.clientId, iat: START, exp: START };
    await identity.store.set(
      credentialKey('AccessToken', identity.credentialHash('bearer')),
      JSON.stringify(record),
    );
    expect(await tokens.verify('bearer')).toBeUndefined();
    // Not even if its record is stored under the key of the other kind.
    await identity.store.set(
      `x-access-token:${identity.credentialHash('moved')}`,
      JSON.stringify(record),
    );
    expect(await tokens.verify('moved')).toBeUndefined();
  });

  test.each([
    ['is disabled', { enabled: false }],
    ['has all credentials revoked', { notBefore: Math.floor(START / 1000) }],
    ['has no secureKey left', { public: true }],
  ])('a token is rejected if its client %s', async (_name, change) => {
    const { identity, client, tokens, advance } = await prepare();
    const token = await tokens.issue(client, 60);
    expect(await tokens.verify(token)).toBeDefined();
    await identity.clients.save({ ...client, ...change });
    advance(50);
    expect(await tokens.verify(token)).toBeUndefined();
  });

  test('a token is rejected if it was issued with a cached client from before the revocation', async () => {
    const { identity, client, tokens, advance } = await prepare();
    advance(499);
    await openIdentity(() => START + 499).clients.save({
      ...client,
      notBefore: Math.floor((START + 499) / 1000),
    });
    advance(40);
    const token = await tokens.issue(client, 60);
    advance(60);
    expect((await identity.clients.find(client.clientId))?.notBefore).toBe(
      Math.floor(START / 1000),
    );
    expect(await tokens.verify(token)).toBeUndefined();
  });

  test('a token above the maximum revokes the one that expires first', async () => {
    const { client, tokens } = await prepare(3);
    const [long, short, middle] = [
      await tokens.issue(client, 300),
      await tokens.issue(client, 100),
      await tokens.issue(client, 200),
    ];
    // The new token is never revoked, even if its lifetime is the shortest.
    const newest = await tokens.issue(client, 50);
    const alive = await Promise.all([long, short, middle, newest].map(tokens.verify));
    expect(alive.map((principal) => principal !== undefined)).toEqual([true, false, true, true]);
  });

  test('the store does not contain the token', async () => {
    const { client, tokens } = await prepare();
    const token = await tokens.issue(client, 60);
    expect(await openStore().get(`x-access-token:${token}`)).toBeUndefined();
    expect(await storedText()).not.toContain(token);
  });

  test.each(['', 'null', '[]', '{"kind":"XAccessToken"}', '{'])(
    'a damaged record %j is not a token',
    async (text) => {
      const { identity, tokens } = await prepare();
      await identity.store.set(`x-access-token:${identity.credentialHash('x')}`, text);
      expect(await tokens.verify('x')).toBeUndefined();
    },
  );
});
