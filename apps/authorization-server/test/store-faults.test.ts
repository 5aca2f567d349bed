// requires: redis-server
/** Lost replies of the store, and a store that is unavailable. */
import { connect } from 'node:net';
import { createPageVisitor, repetitions, startRedisServer, until } from '@gatehouse/testing';
import { afterAll, describe, expect, test } from '@jest/globals';
import { type Fault, startFaultProxy } from './fault-proxy.ts';
import { alice, full, installation, machine } from './installation.ts';
import { as, machineGrant, outcome, type Reply, refreshing, startServers } from './server.ts';
import { atProvider, createProviderHost, startLaxProvider } from './upstream-providers.ts';

const asFull = as(full);
const password = { grant_type: 'password', ...alice };

const redis = await startRedisServer({ arguments: ['--appendonly', 'yes'] });
const proxy = await startFaultProxy(redis.port);
const host = createProviderHost();
const provider = await startLaxProvider(host);
const { clientId } = atProvider;
const elsewhere = { id: 'elsewhere', name: 'Elsewhere', issuer: provider.issuer, clientId };
const upstreams = [{ ...elsewhere, orgId: 'org-1', createUsers: true }];
const system = await startServers({
  servers: 2,
  bootstrap: { ...installation, privateHosts: ['localhost'], upstreams } as typeof installation,
  environment: { ...host.environment, STORE_URL: `redis://127.0.0.1:${proxy.port}` },
});
const { first, second } = system;
afterAll(async () => {
  await proxy.stop();
  await redis.stop();
});

/** Of the keys that match the pattern, the number that the condition selects. */
const countKeys = (pattern: string, condition = 'true') => {
  const loop = `for _, key in ipairs(redis.call('KEYS', '${pattern}')) do if ${condition} then n = n + 1 end end`;
  return redis.command('EVAL', `local n = 0 ${loop} return n`, '0');
};
/** After a cut, the process needs a moment to connect again. */
const untilServed = () => until(async () => (await first.token(machineGrant)).status === 200);
const unavailable = [503, 'temporarily_unavailable'];
const rejected = [400, 'invalid_grant'];
/** A browser that returns from the upstream provider. */
async function returnFromProvider() {
  const visitor = createPageVisitor(host.send);
  const form = await first.openSignIn(visitor);
  let { location = '' } = await visitor.submit(form, { upstream: elsewhere.id });
  while (!location.includes('/return?')) {
    ({ location = '' } = await visitor.get(location));
  }
  return () => visitor.get(location);
}
const refresh = (value: string) => first.token(refreshing(value), asFull);

test('callers that disconnect before the reply leave only records that expire', async () => {
  const { hostname, port, pathname, search } = new URL(first.authorizationUrl());
  const sendAndLeave = () =>
    new Promise<void>((resolve) => {
      const text = `GET ${pathname}${search} HTTP/1.1\r\nHost: x\r\n\r\n`;
      const socket = connect(Number(port), hostname, () =>
        socket.write(text, () => socket.destroy()),
      );
      socket.on('error', () => resolve()).on('close', () => resolve());
    });
  for (let batch = 0; batch < repetitions(50); batch += 1) {
    await Promise.all(Array.from({ length: 20 }, sendAndLeave));
  }
  expect((await first.token(machineGrant)).status).toBe(200);
  expect((await countKeys('oidc:*', "redis.call('PTTL', key) < 0")).trim()).toBe(':0');
});

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

/** Refreshes a token while the reply to a command is lost, and returns the token. */
async function loseRefresh(command: string): Promise<string> {
  let value = '';
  await untilLost(command, 'cut', async () => {
    value = (await first.token(password, asFull)).body.refresh_token;
    return async () => expect(outcome(await refresh(value))).toEqual(unavailable);
  });
  return value;
}

/** A client has the successor of a token, so reusing the token revokes the family. */
async function expectEndOfGrace(value: string, successor: string) {
  const next = await refresh(successor);
  expect(next.status).toBe(200);
  expect(outcome(await refresh(value))).toEqual(rejected);
  expect(await first.isActive(next.body.access_token)).toBe(false);
}

describe('a lost reply of Redis', () => {
  test('to the claim of a code is 503 and not a replay, and revokes nothing', async () => {
    const visitor = createPageVisitor();
    const earlier = await first.tokensFor({}, alice, visitor);
    // The code belongs to the same grant, because user and client are the same.
    let code = '';
    await untilLost('claimed:oidc:AuthorizationCode', 'cut', async () => {
      code = await first.newCode({}, alice, visitor);
      return async () => expect(outcome(await first.redeem(code))).toEqual(unavailable);
    });
    await untilServed();
    expect(outcome(await first.redeem(code))).toEqual(rejected);
    expect(await first.isActive(earlier.access_token)).toBe(true);
  });

  test('to the claim of a refresh token is 503, and a retry succeeds', async () => {
    const value = await loseRefresh('claimed:oidc:RefreshToken');
    await untilServed();
    const retried = await refresh(value);
    expect(retried.status).toBe(200);
    expect((await refresh(retried.body.refresh_token)).status).toBe(200);
  });

  test('to the claim of a return from an upstream provider signs nobody in, then or later', async () => {
    let open = await returnFromProvider();
    await untilLost('upstream-state', 'cut', async () => {
      open = await returnFromProvider();
      return async () => expect((await open()).status).toBe(503);
    });
    await untilServed();
    expect((await open()).status).toBe(400);
    expect(provider.redeemed).toBe(0);
  });

  test('to a write after the successor was stored lets the same client retry later', async () => {
    const value = await loseRefresh('token:');
    // An hour later:
    const age = `for _, key in ipairs(redis.call('KEYS', 'claimed:oidc:RefreshToken:*')) do
      local time, rest = redis.call('GET', key):match('^(%d+)(.*)$')
      redis.call('SET', key, string.format('%.0f', time - 3600000) .. rest, 'KEEPTTL') end`;
    await redis.command('EVAL', age, '0');
    await untilServed();
    const retried = await refresh(value);
    expect(retried.status).toBe(200);
    await expectEndOfGrace(value, retried.body.refresh_token);
  });

  test('to the mark after a refresh costs the client nothing, and its next refresh ends the grace', async () => {
    const value = (await first.token(password, asFull)).body.refresh_token;
    // Only the script that replaces a claim contains this word.
    const lost = proxy.loseReplyOf("'KEEPTTL'", 'cut');
    const refreshed = await refresh(value);
    expect(refreshed.status).toBe(200);
    await lost.sent;
    await untilServed();
    await expectEndOfGrace(value, refreshed.body.refresh_token);
  });

  test('to the claim of a code before a kill invalidates the code, and leaves no token', async () => {
    let code = '';
    let reply: Promise<unknown> = Promise.resolve();
    let before: unknown;
    const tokens = async () => [await countKeys('token:*'), await countKeys('oidc:RefreshToken:*')];
    await untilLost('claimed:oidc:AuthorizationCode', 'stall', async () => {
      code = await first.newCode();
      before = await tokens();
      return () => {
        reply = second.redeem(code).catch(() => 'no reply');
        return reply;
      };
    });
    await system.processes[1]?.kill();
    expect(await reply).toBe('no reply');
    expect(outcome(await first.redeem(code))).toEqual(rejected);
    expect(await tokens()).toEqual(before);
  });
});

/** The last tests, because they stop the store of the remaining process. */
describe('an unavailable store', () => {
  test('makes a revocation 503, never 200, because the token stays valid', async () => {
    const { body } = await first.token(machineGrant);
    redis.freeze();
    const failed = await first.revoke(body.access_token);
    redis.thaw();
    expect(outcome(failed)).toEqual(unavailable);
    expect(failed.headers.get('retry-after')).toBe('1');
    await until(async () => (await first.revoke(body.access_token)).status === 200);
  });

  test('causes 503 JSON with Retry-After for every grant, and 503 at the sign-in page', async () => {
    const code = await first.newCode();
    const value = (await first.token(password, asFull)).body.refresh_token;
    const visitor = createPageVisitor();
    const page = await first.openSignIn(visitor);
    const open = await returnFromProvider();
    await redis.kill();
    const replies: readonly Reply[] = await Promise.all([
      first.token(machineGrant),
      first.redeem(code),
      first.token(password, asFull),
      refresh(value),
      first.token(machineGrant, as({ clientId: 'web', secureKey: 'x' })),
      first.platform(machineGrant, as(machine)),
    ]);
    for (const reply of replies) {
      expect(outcome(reply)).toEqual(unavailable);
      expect(Number(reply.headers.get('retry-after'))).toBeGreaterThan(0);
      expect(reply.headers.get('content-type')).toBe('application/json;charset=UTF-8');
      expect(reply.headers.get('cache-control')).toBe('no-store');
      expect(JSON.stringify(reply.body)).not.toMatch(
        /redis|127\.0\.0\.1|ECONN|stack|access_token/i,
      );
    }
    expect(replies.at(-1)?.body).toMatchObject({ status: 503, code: 'service_unavailable' });
    const submitted = await visitor.submit(page, alice);
    expect([submitted.status, submitted.headers.get('retry-after')]).toEqual([503, '1']);
    const returned = await open();
    expect([returned.status, returned.headers.get('retry-after')]).toEqual([503, '1']);
    expect([returned.location, provider.redeemed]).toEqual([undefined, 0]);
    await redis.restart();
    await untilServed();
    // Nothing was claimed.
    expect((await open()).location).toContain('/authorize/');
    expect(await system.output()).not.toContain(alice.password);
  });
});
