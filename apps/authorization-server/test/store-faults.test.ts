// requires: redis-server

import {
  authorizeAsUser,
  type Constellation,
  createPageVisitor,
  type RedisServer,
  startConstellation,
  startRedisServer,
  until,
} from '@gatehouse/testing';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type Fault, type FaultProxy, startFaultProxy } from './fault-proxy.ts';
import { alice, authorizationUrl, basic, requestToken, web } from './fixtures.ts';
import {
  full,
  grantsBootstrap,
  isActive,
  other,
  outcome,
  refreshing,
  requestPlatformToken,
} from './grants-fixtures.ts';

const asWeb = basic(web.clientId, web.secureKey);
const asFull = { authorization: basic(full.clientId, full.secureKey) };

let redis: RedisServer;
let proxy: FaultProxy;
let system: Constellation;
let first: string;
let second: string;

beforeAll(async () => {
  redis = await startRedisServer({ arguments: ['--appendonly', 'yes'] });
  proxy = await startFaultProxy(redis.port);
  system = await startConstellation({
    engine: 'sqlite',
    bootstrap: grantsBootstrap,
    apps: ['authorization-server', 'authorization-server'],
    environment: { STORE_URL: `redis://127.0.0.1:${proxy.port}` },
  });
  [first = '', second = ''] = system.authorizationServerUrls;
});
afterAll(async () => {
  await system.stop();
  await proxy.stop();
  await redis.stop();
});

const redemption = (code: string) => ({
  grant_type: 'authorization_code',
  code,
  redirect_uri: web.redirectUri,
});
const codeOf = (landing: URL) => landing.searchParams.get('code') ?? '';
const keys = async (pattern: string) =>
  redis.command('EVAL', `return #redis.call('KEYS', '${pattern}')`, '0');
/** After a cut, the process needs a moment to connect again. */
const untilServed = (server: string) =>
  until(
    async () => (await requestToken(server, { grant_type: 'client_credentials' })).status === 200,
  );

const unavailable = [503, 'temporarily_unavailable'];

/**
 * Uses a credential whose claim gets no reply from Redis. On a busy machine, an earlier command of
 * the request can fail. Then it uses another credential.
 *
 * @param prepare makes a credential available, and returns how to use it
 */
const untilLost = (claim: string, fault: Fault, prepare: () => Promise<() => Promise<unknown>>) =>
  until(async () => {
    const use = await prepare();
    const lost = proxy.loseReplyOf(claim, fault);
    const used = use();
    await Promise.race([lost.sent, used]);
    if (fault === 'cut') {
      await used;
    }
    return lost.isSent();
  }, 60);

describe('a lost reply of Redis', () => {
  test('to the claim of a code is 503 and not a replay, and revokes nothing', async () => {
    const visitor = createPageVisitor();
    const newCode = async () =>
      codeOf(await authorizeAsUser(authorizationUrl(first), alice, visitor));
    const earlier = await requestToken(first, redemption(await newCode()));
    // The code belongs to the same grant, because user and client are the same.
    let code = '';
    await untilLost('claimed:oidc:AuthorizationCode', 'cut', async () => {
      code = await newCode();
      return async () =>
        expect(outcome(await requestToken(first, redemption(code)))).toEqual(unavailable);
    });
    await untilServed(first);
    const retried = await requestToken(first, redemption(code));
    expect(outcome(retried)).toEqual([400, 'invalid_grant']);
    expect(await isActive(first, earlier.body.access_token, asWeb)).toBe(true);
  });

  test('to the claim of a refresh token is 503, and a retry succeeds', async () => {
    let refresh = {};
    await untilLost('claimed:oidc:RefreshToken', 'cut', async () => {
      const signedIn = await requestToken(first, { grant_type: 'password', ...alice }, asFull);
      refresh = refreshing(signedIn.body.refresh_token);
      return async () =>
        expect(outcome(await requestToken(first, refresh, asFull))).toEqual(unavailable);
    });
    await untilServed(first);
    const retried = await requestToken(first, refresh, asFull);
    expect(retried.status).toBe(200);
    const next = await requestToken(first, refreshing(retried.body.refresh_token), asFull);
    expect(next.status).toBe(200);
  });

  test('to a write after the successor was stored lets the same client retry later', async () => {
    let refresh = {};
    await untilLost('token:', 'cut', async () => {
      const signedIn = await requestToken(first, { grant_type: 'password', ...alice }, asFull);
      refresh = refreshing(signedIn.body.refresh_token);
      return async () =>
        expect(outcome(await requestToken(first, refresh, asFull))).toEqual(unavailable);
    });
    // An hour later:
    const age = `for _, key in ipairs(redis.call('KEYS', 'claimed:oidc:RefreshToken:*')) do
      local time, rest = redis.call('GET', key):match('^(%d+)(.*)$')
      redis.call('SET', key, string.format('%.0f', time - 3600000) .. rest, 'KEEPTTL') end`;
    await redis.command('EVAL', age, '0');
    await untilServed(first);
    const retried = await requestToken(first, refresh, asFull);
    expect(retried.status).toBe(200);

    const next = await requestToken(first, refreshing(retried.body.refresh_token), asFull);
    expect(next.status).toBe(200);
    const stolen = await requestToken(first, refresh, asFull);
    expect(outcome(stolen)).toEqual([400, 'invalid_grant']);
    expect(await isActive(first, next.body.access_token, asFull.authorization)).toBe(false);
  });

  test('to the mark after a refresh costs the client nothing, and its next refresh ends the grace', async () => {
    const signedIn = await requestToken(first, { grant_type: 'password', ...alice }, asFull);
    const refresh = refreshing(signedIn.body.refresh_token);
    // Only the script that replaces a claim contains this word.
    const lost = proxy.loseReplyOf("'KEEPTTL'", 'cut');
    const refreshed = await requestToken(first, refresh, asFull);
    expect(refreshed.status).toBe(200);
    await lost.sent;
    await untilServed(first);
    const next = await requestToken(first, refreshing(refreshed.body.refresh_token), asFull);
    expect(next.status).toBe(200);
    const stolen = await requestToken(first, refresh, asFull);
    expect(outcome(stolen)).toEqual([400, 'invalid_grant']);
    expect(await isActive(first, next.body.access_token, asFull.authorization)).toBe(false);
  });

  test('to the claim of a code before a kill invalidates the code, and leaves no token', async () => {
    let code = '';
    let reply: Promise<unknown> = Promise.resolve();
    let before: unknown;
    await untilLost('claimed:oidc:AuthorizationCode', 'stall', async () => {
      code = codeOf(await authorizeAsUser(authorizationUrl(first), alice));
      before = [await keys('token:*'), await keys('oidc:RefreshToken:*')];
      return () => {
        reply = requestToken(second, redemption(code)).catch(() => 'no reply');
        return reply;
      };
    });
    await system.processes[1]?.kill();
    expect(await reply).toBe('no reply');
    expect(outcome(await requestToken(first, redemption(code)))).toEqual([400, 'invalid_grant']);
    expect([await keys('token:*'), await keys('oidc:RefreshToken:*')]).toEqual(before);
  });
});

// These tests run last, because they stop the store of the remaining process.
describe('an unavailable store', () => {
  const expectUnavailable = (reply: Awaited<ReturnType<typeof requestToken>>) => {
    expect(outcome(reply)).toEqual([503, 'temporarily_unavailable']);
    expect(Number(reply.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(reply.headers.get('content-type')).toBe('application/json;charset=UTF-8');
    expect(reply.headers.get('cache-control')).toBe('no-store');
    expect(JSON.stringify(reply.body)).not.toMatch(/redis|127\.0\.0\.1|ECONN|stack|access_token/i);
  };

  test('causes 503 JSON with Retry-After for every grant, and 503 at the sign-in page', async () => {
    const visitor = createPageVisitor();
    const code = codeOf(await authorizeAsUser(authorizationUrl(first), alice, visitor));
    const signedIn = await requestToken(first, { grant_type: 'password', ...alice }, asFull);
    const newVisitor = createPageVisitor();
    const redirect = await newVisitor.get(authorizationUrl(first));
    const page = await newVisitor.get(redirect.location ?? '');
    const machine = { client_id: other.clientId, client_secret: other.secureKey };
    await redis.kill();
    const requests = [
      requestToken(first, { grant_type: 'client_credentials' }),
      requestToken(first, redemption(code)),
      requestToken(first, { grant_type: 'password', ...alice }, asFull),
      requestToken(first, refreshing(signedIn.body.refresh_token), asFull),
      requestToken(
        first,
        { grant_type: 'client_credentials' },
        { authorization: basic('web', 'x') },
      ),
      requestPlatformToken(first, { grant_type: 'client_credentials', ...machine }),
    ];
    for (const reply of await Promise.all(requests)) {
      expectUnavailable(reply);
    }
    const grant = { grant_type: 'client_credentials', ...machine };
    const platform = await requestPlatformToken(first, grant);
    expect(platform.body).toMatchObject({ status: 503, code: 'service_unavailable' });
    const rejected = await newVisitor.submit(page, alice);
    expect([rejected.status, rejected.headers.get('retry-after')]).toEqual([503, '1']);

    await redis.restart();
    await untilServed(first);
    const { status } = await requestToken(first, { grant_type: 'client_credentials' });
    expect(status).toBe(200);
    expect(await system.output()).not.toContain(alice.password);
  });
});
