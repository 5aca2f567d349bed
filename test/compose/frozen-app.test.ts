/**
 * A frozen process delays its callers for a bounded time, and its container restarts without an
 * operator.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { basic } from '@gatehouse/testing';
import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { registerUsers, requestToken, type Users } from './clients.ts';
import { type Container, createTier, serviceOf, type Tier } from './tier.ts';

jest.setTimeout(240_000);

/** Until the next health check, its timeout, and the start, on a busy machine. */
const LONGEST_RECOVERY_MILLISECONDS = 90_000;

let tier: Tier;
let users: Users;
let token: string;

beforeAll(async () => {
  tier = await createTier();
  await tier.up();
  users = await registerUsers(tier);
  token = await issueToken();
});
afterAll(() => tier.remove());

async function issueToken(): Promise<string> {
  const { body } = await requestToken(tier, users.web, { grant_type: 'client_credentials' });
  return body.access_token ?? '';
}

async function containerOf(service: string): Promise<Container> {
  const found = (await tier.containers()).find((each) => serviceOf(each) === service);
  if (found === undefined) {
    throw new Error(`There is no container of ${service}.`);
  }
  return found;
}

const list = () =>
  fetch(`${tier.gatewayUrl}/api/device`, { headers: { authorization: `Bearer ${token}` } });

const post = () =>
  fetch(`${tier.authorizationServerUrl}/token`, {
    method: 'POST',
    headers: { authorization: basic(users.web.clientId, users.web.secureKey) },
    body: new URLSearchParams({ grant_type: 'client_credentials' }),
  });

describe.each([
  ['gateway', list],
  ['authorization-server', post],
] as const)('a frozen %s', (service, call) => {
  test('delays its callers for a bounded time, and restarts without an operator', async () => {
    const before = await containerOf(service);
    await tier.compose(
      'exec',
      '-T',
      service,
      'sh',
      '-c',
      'kill -STOP $(cat /proc/1/task/1/children)',
    );
    const frozenAt = performance.now();
    const reply = await call();
    const answeredAfter = Math.round(performance.now() - frozenAt);
    // The request may have taken effect, so the reply must not ask the caller to repeat it.
    expect([502, 503]).toContain(reply.status);
    expect(Object.keys((await reply.json()) as object)).toContain(
      service === 'gateway' ? 'code' : 'error',
    );
    while ((await call()).status !== 200) {
      await sleep(250);
    }
    const recoveredAfter = Math.round(performance.now() - frozenAt);
    process.stdout.write(
      `${service}: answered after ${answeredAfter} ms, whole after ${recoveredAfter} ms\n`,
    );
    expect(recoveredAfter).toBeLessThan(LONGEST_RECOVERY_MILLISECONDS);
    const after = await containerOf(service);
    expect([after.Id, after.RestartCount]).toEqual([before.Id, before.RestartCount + 1]);
  });
});

test('an app that reports that it is not ready is not restarted', async () => {
  await tier.compose('stop', 'redis');
  const pid = () => tier.compose('exec', '-T', 'gateway', 'cat', '/proc/1/task/1/children');
  const before = await pid();
  const check = ['exec', '-T', 'gateway', 'node', 'scripts/container/health-check.mjs'];
  await expect(tier.compose(...check)).rejects.toMatchObject({
    code: 1,
    stdout: expect.stringMatching(/"store": ?"unavailable"/),
  });
  expect(await pid()).toBe(before);
});
