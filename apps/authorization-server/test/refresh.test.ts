// requires: redis-server
import { randomBytes } from 'node:crypto';
import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { until } from '@gatehouse/testing';
import { describe, expect, test } from '@jest/globals';
import { createRefreshRotation } from '../src/provider/single-use.ts';
import { contextOf } from '../src/requests/request-context.ts';
import { alice, full, machine } from './installation.ts';
import {
  as,
  asWeb,
  machineGrant,
  openStores,
  outcome,
  type Reply,
  redeeming,
  refreshing,
  startOnEngines,
} from './server.ts';

const asFull = as(full);
const asMachine = as(machine);
const rejected = [400, 'invalid_grant'];

const systems = await startOnEngines({ servers: 2 });

interface Kind {
  issue(scope?: string): Promise<Reply['body']>;
  refresh(value: string, scope?: string, turn?: number): Promise<Reply>;
}

describe.each(systems)('refresh tokens on $engine', ({ system }) => {
  const { introspect, isActive, newCode, platform, revoke, token, tokensFor } = system.first;

  const ofUsers: Kind = {
    issue: (scope) => tokensFor(scope === undefined ? {} : { scope }),
    refresh: (value, scope, turn = 0) => system.any(turn).token(refreshing(value, scope)),
  };
  const ofMachines: Kind = {
    issue: async (scope) =>
      (await platform({ ...machineGrant, ...(scope && { scope }) }, asMachine)).body,
    refresh: (value, scope, turn = 0) =>
      system.any(turn).platform(refreshing(value, scope), asMachine),
  };
  const kinds = [
    { of: 'users at /token', ...ofUsers },
    { of: 'machines at the platform endpoint', ...ofMachines },
  ];

  describe.each(kinds)('of $of', ({ issue, refresh }) => {
    test('return new tokens of the same scope', async () => {
      const issued = await issue();
      const { status, body } = await refresh(issued.refresh_token);
      expect([status, body]).toMatchObject([
        200,
        { token_type: 'Bearer', expires_in: 7200, scope: issued.scope },
      ]);
      expect(body.refresh_token).toMatch(/^[\w-]{43}$/);
      expect(body.refresh_token).not.toBe(issued.refresh_token);
      expect(body.access_token).not.toBe(issued.access_token);
      expect((await refresh(body.refresh_token)).status).toBe(200);
    });

    test('have one successor for ten concurrent requests over two processes, and again later', async () => {
      const { refresh_token: value } = await issue();
      const replies = await Promise.all(
        Array.from({ length: 10 }, (_, i) => refresh(value, undefined, i)),
      );
      // The reply may be lost, so the client may ask again.
      replies.push(await refresh(value));
      expect(replies.map(({ status }) => status)).toEqual(Array(11).fill(200));
      expect(new Set(replies.map(({ body }) => body.refresh_token)).size).toBe(1);
      expect(new Set(replies.map(({ body }) => body.access_token)).size).toBe(11);
      expect(await isActive(replies[0]?.body.access_token)).toBe(true);
      expect((await refresh(replies[0]?.body.refresh_token)).status).toBe(200);
    });

    test('are revoked with their family if one is reused after its successor was used', async () => {
      const { refresh_token: value } = await issue();
      const second = (await refresh(value)).body;
      const third = (await refresh(second.refresh_token)).body;
      expect(await isActive(third.access_token)).toBe(true);
      expect(outcome(await refresh(value))).toEqual(rejected);
      for (const { access_token, refresh_token } of [second, third]) {
        expect(await isActive(access_token)).toBe(false);
        expect(outcome(await refresh(refresh_token))).toEqual(rejected);
      }
    });

    test('narrow the access token only, and never widen it', async () => {
      const { refresh_token: small } = await issue('device:read');
      const wide = await refresh(small, 'device:read device:write');
      expect(outcome(wide)).toEqual([400, 'invalid_scope']);
      const { refresh_token: value, scope } = await issue();
      const narrow = await refresh(value, 'device:read nonsense');
      expect(narrow.body.scope).toBe('device:read');
      expect((await refresh(narrow.body.refresh_token)).body.scope).toBe(scope);
    });

    test('are rejected for another client, and stay valid', async () => {
      const { refresh_token: value } = await issue();
      for (const foreign of [
        await token(refreshing(value), asFull),
        await platform(refreshing(value), asFull),
      ]) {
        expect(outcome(foreign)).toEqual(rejected);
      }
      expect((await refresh(value)).status).toBe(200);
    });

    test('are revoked with their access tokens', async () => {
      const { refresh_token: value, access_token: accessToken } = await issue();
      await revoke(value, issue === ofUsers.issue ? asWeb : asMachine);
      expect(await isActive(accessToken)).toBe(false);
      expect(outcome(await refresh(value))).toEqual(rejected);
    });

    test('are neither access tokens nor empty, too long or with NUL', async () => {
      const { access_token: accessToken } = await issue();
      for (const value of [accessToken, '', 'x'.repeat(10_000), 'a\0b']) {
        expect((await refresh(value)).status).toBe(400);
      }
    });
  });

  test('of machines can be used at the platform endpoint only, those of users at both', async () => {
    const { refresh_token: ofMachine } = await ofMachines.issue();
    expect(outcome(await token(refreshing(ofMachine), asMachine))).toEqual(rejected);
    const { status, body } = await platform(redeeming(await newCode()), asWeb);
    expect([status, body.expires_in]).toEqual([200, 7200]);
    const here = await platform(refreshing(body.refresh_token), asWeb);
    expect(here.status).toBe(200);
    expect((await token(refreshing(here.body.refresh_token))).status).toBe(200);
  });

  test('lose a scope that the client no longer has, at either endpoint', async () => {
    const ofUser = (await token({ grant_type: 'password', ...alice }, asFull)).body;
    const ofMachine = (await platform(machineGrant, asFull)).body;
    expect(`${ofUser.scope} ${ofMachine.scope}`).toMatch(/device:write .*device:write/);
    const { clients } = system.identity;
    const setScopes = (scopes: readonly string[]) =>
      clients.update(full.clientId, (client) => ({ ...client, scopes }));
    const before = (await clients.find(full.clientId))?.scopes ?? [];
    await setScopes(['device:read', 'openid']);
    // The servers' copies of the record are at most 50 ms old.
    await sleep(60);

    const refreshed = await token(refreshing(ofUser.refresh_token), asFull);
    expect([refreshed.status, refreshed.body.scope]).toEqual([200, 'device:read openid']);
    const taken = refreshing(refreshed.body.refresh_token, 'device:write');
    expect(outcome(await token(taken, asFull))).toEqual([400, 'invalid_scope']);
    const atPlatform = await platform(refreshing(ofMachine.refresh_token), asFull);
    expect([atPlatform.status, atPlatform.body.scope]).toEqual([200, 'device:read']);
    for (const { body } of [refreshed, atPlatform]) {
      for (const value of [body.access_token, body.refresh_token]) {
        expect((await introspect(value)).scope).toBe(body.scope);
      }
    }
    await setScopes(before);
  });
});

const MONTH = 30 * 24 * 60 * 60;
const stores = await openStores();

describe.each(stores)('the use of a refresh token on $engine', ({ system: { store } }) => {
  const keyOf = (value: string) => `record:${value}`;
  const successorOf = (value: string) => `${value}-next`;
  const start = () => {
    const id = randomBytes(8).toString('hex');
    let seconds = 0;
    const now = () => 1_800_000_000_000 + seconds * 1000;
    let request = new IncomingMessage(new Socket());

    const rotation = createRefreshRotation({
      store,
      successorOf,
      keyOf,
      now,
      request: () => contextOf(request),
    });
    const of = (value: string) => ({ id: value, key: keyOf(value) });
    const claim = (value: string) => {
      request = new IncomingMessage(new Socket());
      return rotation.claim(of(value), MONTH);
    };
    return {
      id,
      claim,
      /** Whether it is redeemed after these seconds, and whether it can be claimed. */
      async at(later: number) {
        seconds = later;
        const isRedeemed = await rotation.isRedeemed(of(id));
        return [isRedeemed, await claim(id)];
      },
      /** The reply to the last claim is sent. */
      reply: () => rotation.complete(request),
    };
  };
  const unused = [false, true];
  const used = [true, false];

  test('can be repeated until its successor is used if no reply was sent', async () => {
    const { id, at, claim } = start();
    expect(await at(0)).toEqual(unused);
    expect(await at(3600)).toEqual(unused);
    // The successor was used, so one of its holders has the reply of a concurrent request.
    expect(await claim(successorOf(id))).toBe(true);
    expect(await at(3600)).toEqual(used);
  });

  test('can be repeated for ten seconds after the first reply', async () => {
    const { at, reply } = start();
    expect(await at(0)).toEqual(unused);
    expect(await at(3600)).toEqual(unused);
    await reply();
    expect(await at(3603)).toEqual(unused);
    await reply();
    expect(await at(3609.9)).toEqual(unused);
    expect(await at(3610)).toEqual(used);
  });

  test('cannot be repeated after its successor was used, within the ten seconds', async () => {
    const { id, at, claim, reply } = start();
    expect(await at(0)).toEqual(unused);
    await reply();
    expect(await at(4)).toEqual(unused);
    expect(await claim(successorOf(id))).toBe(true);
    expect(await at(9.9)).toEqual(used);
  });

  test('cannot be repeated if an earlier version claimed it', async () => {
    const { id, at } = start();
    await store.set(`claimed:${keyOf(id)}`, '1800000000000.owner', MONTH);
    expect(await at(10)).toEqual(used);
  });
});

/** After a data loss, revocation must still work. */
describe.each(systems)('without the index of the tokens of a grant, on $engine', ({ system }) => {
  const { isActive, newCode, redeem, revoke, token, userinfo } = system.first;

  /** Whether the gateway, introspection and userinfo accept an access token. */
  async function seen(value: string) {
    const verified = await system.identity.verifyAccessToken(value);
    return [verified !== undefined, await isActive(value), (await userinfo(value)).status];
  }

  test.each([
    [
      'revoking a refresh token',
      async (_code: string, value: string) => (await revoke(value)).status,
      200,
    ],
    ['replaying a code', async (code: string) => (await redeem(code)).status, 400],
  ] as const)('%s revokes the tokens', async (_what, end, status) => {
    const code = await newCode({ scope: 'device:read openid' });
    const { access_token: access, refresh_token: refresh } = (await redeem(code)).body;
    for (const userId of await system.store.members('users')) {
      const grants = await system.store.members(`user-grants:${userId}`);
      await system.store.delete(grants.map((grantId) => `grant-members:${grantId}`));
    }
    expect(await seen(access)).toEqual([true, true, 200]);
    expect(await end(code, refresh)).toBe(status);
    // The gateway may use a copy from up to 50 ms before the tombstone.
    await until(async () => expect(await seen(access)).toEqual([false, false, 401]));
    expect(outcome(await token(refreshing(refresh)))).toEqual([400, 'invalid_grant']);
  });
});
