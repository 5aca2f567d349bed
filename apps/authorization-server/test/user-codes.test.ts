// requires: redis-server
import { createStore } from '@gatehouse/store';
import { createPageVisitor, type PageVisitor, until } from '@gatehouse/testing';
import { startOnEachEngine } from '@gatehouse/testing/suite';
import { afterAll, afterEach, describe, expect, test } from '@jest/globals';
import { alice } from './fixtures.ts';
import { bob, bootstrap, connectDevice, openPage, startDevice } from './page-fixtures.ts';

const STRANGERS_KEY = 'attempts:user-code:strangers:all';
const WRONG = 'CCCC-CCCC';

const systems = await startOnEachEngine({
  bootstrap,
  apps: ['authorization-server', 'authorization-server'],
  environment: { TRUSTED_PROXIES: '127.0.0.0/8, ::1' },
});

/** RFC 8628 §5.1. device-sign-in.slow.test.ts tests the limit of one address. */
describe.each(systems)('guesses of user codes over $engine', ({ system }) => {
  const issuer = system.authorizationServerUrl;
  const store = createStore(system.storeUrl);
  let nextAddress = 1;

  afterEach(() => store.delete([STRANGERS_KEY]));
  afterAll(() => store.close());

  /** Guesses from a new address each time, like a botnet. */
  async function guess(visitor: PageVisitor, code = WRONG, server = issuer) {
    const form = await visitor.get(`${server}/device`);
    const from = { 'x-forwarded-for': `192.0.2.${nextAddress++}` };
    return visitor.submit(form, { user_code: code }, from);
  }

  test('are limited for all anonymous callers together, whatever their addresses, until they sign in', async () => {
    for (let i = 0; i < 3; i += 1) {
      expect((await guess(createPageVisitor())).status).toBe(422);
    }
    expect((await store.counter(STRANGERS_KEY))?.count).toBe(3);
    await store.increment(STRANGERS_KEY, 600, 997);

    const device = await startDevice(issuer);
    const visitor = createPageVisitor();
    for (const server of system.authorizationServerUrls) {
      const page = await guess(visitor, device.user_code, server);
      expect([page.status, page.body]).toEqual([429, expect.stringContaining('Sign in first')]);
      expect(Number(page.headers.get('retry-after'))).toBeGreaterThan(500);
    }
    await openPage(visitor, `${issuer}/account`);
    const done = await connectDevice(device, { visitor });
    expect(done.body).toContain('Your device is connected');
  });

  test('do not count if the code is right', async () => {
    const device = await startDevice(issuer);
    expect((await guess(createPageVisitor(), device.user_code)).status).toBe(200);
    await until(async () => (await store.counter(STRANGERS_KEY))?.count === 0);
  });

  test('are limited to twenty for one user, whatever the addresses and sessions, and not for other users', async () => {
    const [one, other] = [createPageVisitor(), createPageVisitor()];
    await openPage(one, `${issuer}/account`, bob);
    await openPage(other, `${issuer}/account`, bob);
    for (let i = 0; i < 20; i += 1) {
      expect((await guess(i % 2 === 0 ? one : other)).status).toBe(422);
    }
    const device = await startDevice(issuer);
    const page = await guess(other, device.user_code);
    expect([page.status, page.body]).toEqual([429, expect.stringContaining('Wait 10 minutes')]);
    expect(await store.counter(STRANGERS_KEY)).toBeUndefined();

    const neighbor = createPageVisitor();
    await openPage(neighbor, `${issuer}/account`, alice);
    expect((await guess(neighbor, device.user_code)).status).toBe(200);
  });
});
