/** After restarts of Redis in containers, earlier credentials can still be revoked. */
import { authorizeAsUser, createPageVisitor, type PageVisitor, until } from '@gatehouse/testing';
import { expect, jest, test } from '@jest/globals';
import { redirectUri, startTierInUse } from './clients.ts';
import { serviceOf } from './tier.ts';

jest.setTimeout(180_000);

const { tier, users, token, listWith, revoke } = await startTierInUse();

const redeem = (code: string) =>
  token({ grant_type: 'authorization_code', code, redirect_uri: redirectUri });

async function signIn(visitor: PageVisitor) {
  const { clientId: client_id } = users.web;
  const request = { response_type: 'code', client_id, redirect_uri: redirectUri };
  const url = `${tier.authorizationServerUrl}/authorize?${new URLSearchParams(request)}`;
  const landing = await authorizeAsUser(url, users.alice, visitor);
  const code = landing.searchParams.get('code') ?? '';
  const { access_token = '', refresh_token = '' } = (await redeem(code)).body;
  const status = async () => (await listWith(access_token)).status;
  return { code, refresh: refresh_token, status };
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

test.each([
  ['restart redis', () => tier.compose('restart', 'redis')],
  ['down and up', () => tier.compose('--profile', '*', 'down').then(() => tier.up())],
])(
  'revocation, replay detection and the account page work after docker compose %s',
  async (_name, interrupt) => {
    const visitor = createPageVisitor();
    const [first, second] = [await signIn(visitor), await signIn(visitor)];
    expect([await first.status(), await second.status()]).toEqual([200, 200]);

    await interrupt();
    expect(await onceAvailable(first.status)).toBe(200);
    expect(await onceAvailable(second.status)).toBe(200);
    const accountPage = () => visitor.get(`${tier.authorizationServerUrl}/account`);
    expect(await onceAvailable(async () => (await accountPage()).status)).toBe(200);
    expect((await accountPage()).body).toContain(`Application ID: ${users.web.clientId}`);
    expect(await onceAvailable(() => revoke(first.refresh))).toBe(200);
    expect(await first.status()).toBe(401);
    expect(await onceAvailable(async () => (await redeem(second.code)).status)).toBe(400);
    expect(await second.status()).toBe(401);
    const log = await tier.compose('logs', '--no-color', 'redis');
    expect(log).toContain('DB loaded from append only file');
    expect(log).not.toMatch(/CRITICAL|NOPERM/);
  },
);

test('the operators’ user of Redis gives the store more memory without replacing a container', async () => {
  const send = (...words: readonly string[]) =>
    tier.compose('run', '--rm', '-T', 'redis-cli', ...words);
  const identifiers = async () =>
    Object.fromEntries((await tier.containers()).map((each) => [serviceOf(each), each.Id]));
  const before = await identifiers();
  expect(await send('config', 'set', 'maxmemory', '320mb')).toBe('OK\n');
  expect(await send('info', 'memory')).toContain('maxmemory:335544320');
  expect(await identifiers()).toEqual(before);
});
