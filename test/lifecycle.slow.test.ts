/** Each app is not ready as soon as it receives a signal, and replies during the shutdown delay. */
import { type Member, oneClient, until } from '@gatehouse/testing';
import { startSystem } from '@gatehouse/testing/suite';
import { expect, test } from '@jest/globals';

const system = await startSystem({
  engine: 'sqlite',
  bootstrap: oneClient('lifecycleKey0123456789'),
  environment: { SHUTDOWN_DELAY_SECONDS: '5' },
});

const readiness = async (member: Member) => {
  const reply = await fetch(`${member.operationsUrl}/ready`, { headers: { Connection: 'close' } });
  return [reply.status, await reply.json()];
};

test.each(system.members)('$app drains', async (member) => {
  expect(await readiness(member)).toMatchObject([200, { status: 'ready' }]);
  const end = member.process.stop();
  await until(async () => (await readiness(member))[0] === 503);
  expect(await readiness(member)).toEqual([503, { status: 'draining' }]);
  const reply = await fetch(`${member.url}/nothing`);
  expect([401, 404]).toContain(reply.status);
  expect(reply.headers.get('connection')).toBe('close');
  expect((await fetch(`${member.operationsUrl}/live`)).status).toBe(200);
  expect(await end).toBe(0);
});
