// requires: redis-server
/** Guesses of user codes. device.slow.test.ts tests the device sign-in. */
import { createPageVisitor, type PageVisitor, until } from '@gatehouse/testing';
import { afterEach, describe, expect, test } from '@jest/globals';
import { alice, bob } from './installation.ts';
import { startOnEngines } from './server.ts';

const STRANGERS_KEY = 'attempts:user-code:strangers:all';
const systems = await startOnEngines({
  servers: 2,
  environment: { TRUSTED_PROXIES: '127.0.0.0/8, ::1' },
});

/** RFC 8628 §5.1. device.slow.test.ts tests the limit of one address. */
describe.each(systems)(
  'guesses of user codes over $engine',
  ({ system: { store, any, first } }) => {
    let nextAddress = 1;
    afterEach(() => store.delete([STRANGERS_KEY]));
    const guesses = async () => (await store.increment(STRANGERS_KEY, 60, 0)).count;

    /** Guesses from a new address each time, like a botnet. */
    async function guess(visitor: PageVisitor, code = 'CCCC-CCCC', turn = 0) {
      const form = await visitor.get(`${any(turn).issuer}/device`);
      const from = { 'x-forwarded-for': `192.0.2.${nextAddress++}` };
      return visitor.submit(form, { user_code: code }, from);
    }

    test('are limited for all anonymous callers together, whatever their addresses, until they sign in', async () => {
      for (let i = 0; i < 3; i += 1) {
        expect((await guess(createPageVisitor())).status).toBe(422);
      }
      expect(await guesses()).toBe(3);
      await store.increment(STRANGERS_KEY, 600, 997);

      const device = await first.startDevice();
      const visitor = createPageVisitor();
      for (const turn of [0, 1]) {
        const page = await guess(visitor, device.user_code, turn);
        expect([page.status, page.body]).toEqual([429, expect.stringContaining('Sign in first')]);
        expect(Number(page.headers.get('retry-after'))).toBeGreaterThan(500);
      }
      await first.open(visitor, '/account');
      const done = await first.connectDevice(device, { visitor });
      expect(done.body).toContain('Your device is connected');
    });

    test('do not count if the code is right', async () => {
      const device = await first.startDevice();
      expect((await guess(createPageVisitor(), device.user_code)).status).toBe(200);
      await until(async () => (await guesses()) === 0);
    });

    test('are limited to twenty for one user, whatever the addresses and sessions, and not for other users', async () => {
      const [one, other, neighbor] = [
        createPageVisitor(),
        createPageVisitor(),
        createPageVisitor(),
      ];
      await first.open(one, '/account', bob);
      await first.open(other, '/account', bob);
      for (let i = 0; i < 20; i += 1) {
        expect((await guess(i % 2 === 0 ? one : other)).status).toBe(422);
      }
      const device = await first.startDevice();
      const page = await guess(other, device.user_code);
      expect([page.status, page.body]).toEqual([429, expect.stringContaining('Wait 10 minutes')]);
      expect(await guesses()).toBe(0);
      await first.open(neighbor, '/account', alice);
      expect((await guess(neighbor, device.user_code)).status).toBe(200);
    });
  },
);
