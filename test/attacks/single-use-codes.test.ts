// requires: redis-server
/**
 * Callers present the same code of an authenticator app, the same recovery code, or the same
 * assertion of a passkey at the same moment: to two processes over one store, and through the
 * sign-in page.
 */
import { randomUUID } from 'node:crypto';
import { openIdentity } from '@gatehouse/identity';
import { createStore } from '@gatehouse/store';
import {
  type Constellation,
  codeOfApp,
  createPageVisitor,
  createSoftwareAuthenticator,
  integrationEngines,
  passkeyOptions,
  startConstellation,
} from '@gatehouse/testing';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';

const RACES = 200;
const CALLERS = 50;
const users = Array.from({ length: 4 }, (_, i) => ({
  ...{ username: `user-${i}`, name: `User ${i}`, orgId: 'org-1' },
  password: 'a password that nobody guesses',
}));

/** What a page would ask the authenticator for. */
const creationOptions = (userId: string) =>
  JSON.stringify({
    challenge: 'AAAA',
    rp: { id: 'localhost' },
    user: { id: Buffer.from(userId).toString('base64url') },
  });

describe.each(integrationEngines)('races for a code on %s', (engine) => {
  let system: Constellation;
  const stores: ReturnType<typeof createStore>[] = [];

  beforeAll(async () => {
    system = await startConstellation({
      engine,
      apps: ['authorization-server', 'authorization-server'],
      bootstrap: {
        organizations: [{ id: 'org-1', name: 'Example' }],
        users,
        secondFactor: { default: 'optional' },
      },
      environment: { LOG_LEVEL: 'error', PAGE_RATE_LIMIT: '100000/60' },
    });
  });
  afterAll(async () => {
    await Promise.all(stores.map((store) => store.close()));
    await system?.stop();
  });

  /** Another process with its own connection. */
  function open(now = Date.now) {
    const store = createStore(system.storeUrl);
    stores.push(store);
    return openIdentity({ store, masterKey: system.masterKey, now });
  }

  test(`of ${CALLERS} callers, one wins each of ${RACES} races`, async () => {
    let time = Date.now();
    const [one, two] = [open(() => time), open(() => time)];
    for (let race = 0; race < RACES; race += 1) {
      const userId = randomUUID();
      const secret = one.factors.newSecret();
      const added = { secret, isFirst: true };
      const codes = await one.factors.enroll(userId, added, codeOfApp(secret, time));
      time += 90_000;
      const code = race % 2 === 0 ? codeOfApp(secret, time) : (codes?.[0] ?? '');
      const outcomes = await Promise.all(
        Array.from({ length: CALLERS }, (_, i) => [one, two][i % 2]?.factors.use(userId, code)),
      );
      expect([race, outcomes.filter((each) => each !== undefined).length]).toEqual([race, 1]);
    }
  });

  test('of 50 browsers with the right password, one signs in with a code', async () => {
    const { factors, users: registry } = open();
    for (const [i, { username, password }] of users.entries()) {
      const userId = (await registry.findByUsername(username))?.userId ?? '';
      const secret = factors.newSecret();
      const added = { secret, isFirst: true };
      const codes = await factors.enroll(userId, added, codeOfApp(secret, Date.now() - 30_000));
      const issuer = system.authorizationServerUrls[i % 2] ?? '';
      const visitor = createPageVisitor();
      let page = await visitor.get(`${issuer}/account`);
      while (page.location !== undefined) {
        page = await visitor.get(page.location);
      }
      const reply = await visitor.submit(page, { username, password });
      const step = await visitor.get(reply.location ?? '');
      const code = i % 2 === 0 ? codeOfApp(secret) : (codes?.[0] ?? '');
      // Ten attempts are evaluated at most. The others get the same page.
      const replies = await Promise.all(
        Array.from({ length: CALLERS }, () => visitor.submit(step, { code })),
      );
      const statuses = replies.map(({ status }) => status);
      expect(statuses.filter((status) => status === 303)).toHaveLength(1);
      expect(statuses.filter((status) => status === 422)).toHaveLength(CALLERS - 1);
    }
  });

  test(`of ${CALLERS} callers, one uses each of ${RACES} challenges of passkeys`, async () => {
    const registries = [open().passkeys, open().passkeys];
    const [one] = registries;
    const passkey = { publicKey: 'AAAA', counter: 0, name: 'Key', transports: [] };
    for (let race = 0; race < RACES; race += 1) {
      const challenge = one?.newChallenge() ?? '';
      const claims = await Promise.all(
        Array.from({ length: CALLERS }, (_, i) => registries[i % 2]?.claimChallenge(challenge)),
      );
      expect([race, claims.filter(Boolean).length]).toEqual([race, 1]);
    }
    const userId = randomUUID();
    await one?.add(userId, { ...passkey, id: 'AAAA', isDeviceBound: true, isBackedUp: false });
    const uses = await Promise.all(
      Array.from({ length: CALLERS }, (_, i) =>
        registries[i % 2]?.recordUse(userId, 'AAAA', { counter: 1, isBackedUp: false }),
      ),
    );
    expect(uses.filter((problem) => problem === undefined)).toHaveLength(1);
  });

  test('of 50 copies of an assertion at two servers, one signs in', async () => {
    const { passkeys, users: registry } = open();
    const issuer = system.authorizationServerUrls[0] ?? '';
    const userId = (await registry.findByUsername('user-0'))?.userId ?? '';
    // The limit of an address is 300.
    for (let race = 0; race < 5; race += 1) {
      const authenticator = createSoftwareAuthenticator(issuer);
      authenticator.create(creationOptions(userId));
      const { id } = authenticator;
      const kind = { transports: [], isDeviceBound: false, isBackedUp: true };
      await passkeys.add(userId, {
        ...kind,
        id,
        publicKey: authenticator.publicKey,
        counter: 0,
        name: 'Phone',
      });
      const visitor = createPageVisitor();
      let page = await visitor.get(`${issuer}/account`);
      while (page.location !== undefined) {
        page = await visitor.get(page.location);
      }
      const passkey = authenticator.get(passkeyOptions(page));
      const [, form = ''] = page.body.split('<form class="passkey"');
      const body = `<form class="passkey"${form}`;
      const replies = await Promise.all(
        Array.from({ length: CALLERS }, (_, i) => {
          const { pathname } = new URL(page.url);
          const url = `${system.authorizationServerUrls[i % 2]}${pathname}`;
          return visitor.submit({ url, body }, { passkey, remember: '' });
        }),
      );
      const failed = replies.filter(({ location = '' }) => location.endsWith('?failed=passkey'));
      const accepted = replies.filter(({ location = '' }) => location.includes('/authorize/'));
      expect([race, failed.length, accepted.length]).toEqual([race, CALLERS - 1, 1]);
      await passkeys.remove(userId, id);
      await open().signInLocks.unlock({ userId, username: 'user-0' });
    }
  });
});
