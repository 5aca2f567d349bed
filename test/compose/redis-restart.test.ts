/** After restarts of Redis in containers, earlier credentials can still be revoked. */
import {
  authorizeAsUser,
  basic,
  createPageVisitor,
  type PageVisitor,
  until,
} from '@gatehouse/testing';
import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { callGateway, redirectUri, registerUsers, requestToken, type Users } from './clients.ts';
import { createTier, serviceOf, type Tier } from './tier.ts';

jest.setTimeout(180_000);

let tier: Tier;
let users: Users;

beforeAll(async () => {
  tier = await createTier();
  await tier.up();
  users = await registerUsers(tier);
});
afterAll(() => tier.remove());

interface SignIn {
  readonly code: string;
  readonly accessToken: string;
  readonly refreshToken: string;
}

function redeem(code: string) {
  const parameters = { grant_type: 'authorization_code', code, redirect_uri: redirectUri };
  return requestToken(tier, users.web, parameters);
}

async function signIn(visitor: PageVisitor): Promise<SignIn> {
  const query = new URLSearchParams({
    response_type: 'code',
    client_id: users.web.clientId,
    redirect_uri: redirectUri,
    scope: 'device:read',
  });
  const url = `${tier.authorizationServerUrl}/authorize?${query}`;
  const landing = await authorizeAsUser(url, users.alice, visitor);
  const code = landing.searchParams.get('code') ?? '';
  const { body } = await redeem(code);
  return {
    code,
    accessToken: body.access_token ?? '',
    refreshToken: body.refresh_token ?? '',
  };
}

async function statusWith({ accessToken }: SignIn): Promise<number> {
  const headers = { authorization: `Bearer ${accessToken}` };
  return (await callGateway(tier, '/api/device', { headers })).status;
}

async function revoke({ refreshToken }: SignIn): Promise<number> {
  const reply = await fetch(`${tier.authorizationServerUrl}/revoke`, {
    method: 'POST',
    headers: { authorization: basic(users.web.clientId, users.web.secureKey) },
    body: new URLSearchParams({ token: refreshToken }),
  });
  return reply.status;
}

/** Retries while the store is unavailable, because each connection to Redis recovers separately. */
async function onceAvailable(call: () => Promise<number>): Promise<number> {
  let status = 503;
  await until(async () => {
    status = await call();
    return status !== 503;
  }, 30);
  return status;
}

async function restart(): Promise<void> {
  await tier.compose('restart', 'redis');
}

async function downAndUp(): Promise<void> {
  await tier.compose('--profile', '*', 'down');
  await tier.up();
}

describe.each([
  ['docker compose restart redis', restart],
  ['docker compose down and up', downAndUp],
])('after %s', (_name, interrupt) => {
  test('revocation, replay detection and the account page work for earlier tokens', async () => {
    const visitor = createPageVisitor();
    const first = await signIn(visitor);
    const second = await signIn(visitor);
    expect([await statusWith(first), await statusWith(second)]).toEqual([200, 200]);

    await interrupt();
    expect(await onceAvailable(() => statusWith(first))).toBe(200);
    expect(await onceAvailable(() => statusWith(second))).toBe(200);
    const accountPage = () => visitor.get(`${tier.authorizationServerUrl}/account`);
    expect(await onceAvailable(async () => (await accountPage()).status)).toBe(200);
    expect((await accountPage()).body).toContain(`Application ID: ${users.web.clientId}`);
    expect(await onceAvailable(() => revoke(first))).toBe(200);
    expect(await statusWith(first)).toBe(401);
    expect(await onceAvailable(async () => (await redeem(second.code)).status)).toBe(400);
    expect(await statusWith(second)).toBe(401);
  });

  test('the log of Redis reports no dropped transaction', async () => {
    const log = await tier.compose('logs', '--no-color', 'redis');
    expect(log).toContain('DB loaded from append only file');
    expect(log).not.toMatch(/CRITICAL|NOPERM/);
  });
});

describe('the operators’ user of Redis', () => {
  const send = (...words: readonly string[]) =>
    tier.compose('run', '--rm', '-T', 'redis-cli', ...words);
  const identifiers = async () =>
    Object.fromEntries((await tier.containers()).map((each) => [serviceOf(each), each.Id]));

  test('gives the store more memory without replacing a container', async () => {
    const before = await identifiers();
    expect(await send('config', 'set', 'maxmemory', '320mb')).toBe('OK\n');
    expect(await send('info', 'memory')).toContain('maxmemory:335544320');
    expect(await identifiers()).toEqual(before);
  });
});
