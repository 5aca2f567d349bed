/** A frozen process delays its callers for a bounded time, and restarts without an operator. */
import { until } from '@gatehouse/testing';
import { expect, jest, test } from '@jest/globals';
import { startTierInUse } from './clients.ts';

jest.setTimeout(240_000);

/** Until the next health check, its timeout, and the start, on a busy machine. */
const LONGEST_RECOVERY_SECONDS = 90;

const { tier, post, newToken } = await startTierInUse();
const headers = { authorization: `Bearer ${await newToken()}` };

test.each([
  ['gateway', 'code', () => fetch(`${tier.gatewayUrl}/api/device`, { headers })],
  ['authorization-server', 'error', () => post('/token', { grant_type: 'client_credentials' })],
] as const)(
  'a frozen %s answers its callers, and restarts without an operator',
  async (service, member, call) => {
    const before = await tier.container(service);
    await tier.exec(service, 'sh', '-c', 'kill -STOP $(cat /proc/1/task/1/children)');
    const reply = await call();
    // The request may have taken effect, so the reply must not ask the caller to repeat it.
    expect([502, 503]).toContain(reply.status);
    expect(Object.keys((await reply.json()) as object)).toContain(member);
    await until(async () => (await call()).status === 200, LONGEST_RECOVERY_SECONDS);
    const after = await tier.container(service);
    expect([after.Id, after.RestartCount]).toEqual([before.Id, before.RestartCount + 1]);
  },
);

test('an app that reports that it is not ready is not restarted', async () => {
  await tier.compose('stop', 'redis');
  const pid = () => tier.exec('gateway', 'cat', '/proc/1/task/1/children');
  const before = await pid();
  const check = tier.exec('gateway', 'node', 'scripts/container/health-check.mjs');
  const stdout = expect.stringMatching(/"store": ?"unavailable"/);
  await expect(check).rejects.toMatchObject({ code: 1, stdout });
  expect(await pid()).toBe(before);
});
