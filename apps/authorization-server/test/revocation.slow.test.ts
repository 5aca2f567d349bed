// requires: redis-server
/** What ends sessions and tokens while servers run: users, operators, and removed secure keys. */
import { setTimeout as sleep } from 'node:timers/promises';
import { nextNotBefore } from '@gatehouse/identity';
import { createPageVisitor } from '@gatehouse/testing';
import { afterEach, describe, expect, test } from '@jest/globals';
import { alice, full, installation, web } from './installation.ts';
import {
  as,
  machineGrant,
  outcome,
  type Reply,
  refreshing,
  startOnEngines,
  type User,
} from './server.ts';

interface Tokens {
  readonly access_token: string;
  readonly refresh_token?: string;
}

const password = 'a password of many words';
const ways = ['everywhere', 'password', 'disabled', 'operator'] as const;
const users = ways.map((username) => ({ username, password, name: username, orgId: 'org-1' }));
const rejected = [400, 'invalid_grant'];
const silently = { scope: 'device:read openid', prompt: 'none' };

const systems = await startOnEngines({
  servers: 2,
  bootstrap: { ...installation, users: [...installation.users, ...users] },
});

// The servers' copies of a record are at most 50 ms old.
const untilSeen = () => sleep(60);

describe.each(systems)('over $engine', ({ system }) => {
  const { first, second, identity } = system;
  const { authorizationUrl, isActive, issuer, newCode, open, platform, redeem, token } = first;

  describe('a session that ended elsewhere', () => {
    const userIdOf = async ({ username }: User) =>
      (await identity.users.findByUsername(username))?.userId ?? '';
    const end: Readonly<Record<(typeof ways)[number], (user: User) => Promise<unknown>>> = {
      async everywhere(user) {
        const visitor = createPageVisitor();
        await open(visitor, '/account', user);
        const question = await visitor.get(`${issuer}/account/sign-out-everywhere`);
        await visitor.submit(question, {});
      },
      async password(user) {
        const visitor = createPageVisitor();
        const form = await open(visitor, '/account/password', user);
        const wanted = 'another password of many words';
        await visitor.submit(form, { current: user.password, wanted, repeated: wanted });
      },
      disabled: async (user) =>
        identity.users.update(await userIdOf(user), (each) => ({ ...each, enabled: false })),
      operator: async (user) => {
        const notBefore = nextNotBefore(Date.now());
        await identity.users.update(await userIdOf(user), (each) => ({ ...each, notBefore }));
      },
    };

    test.each(ways)('allows no silent sign-in, and its tokens are invalid: %s', async (way) => {
      const user = { username: way, password };
      const visitor = createPageVisitor();
      const tokens = await first.tokensFor({ scope: 'device:read openid' }, user, visitor);
      const location = async () => (await visitor.get(authorizationUrl(silently))).location;
      expect(await location()).toContain('code=');

      await end[way](user);
      await untilSeen();
      expect(await location()).toContain('error=login_required');
      for (const server of [first, second]) {
        expect(outcome(await server.token(refreshing(tokens.refresh_token)))).toEqual(rejected);
        expect(await server.isActive(tokens.access_token)).toBe(false);
      }
    });
  });

  describe('a removed secure key', () => {
    let newKey = '';
    const asFull = (secureKey: string = full.secureKey) => as({ ...full, secureKey });

    afterEach(async () => {
      // Restores the one active key that each test starts with.
      await identity.clients.update(full.clientId, (client) => ({ ...client, keys: [] }));
      const client = await identity.clients.find(full.clientId);
      if (client !== undefined) {
        await identity.clients.save(client, full.secureKey);
      }
      await untilSeen();
    });

    /** Adds a second key, and returns a function that removes the first. */
    async function rotate() {
      const { clients } = identity;
      const added = await clients.rotateKey(full.clientId, { replaceOldest: false });
      newKey = added.secureKey;
      await untilSeen();
      const keyId = clients.describeKeys(added.client)[1]?.keyId ?? '';
      const remove = async (options?: { keepTokens: boolean }) => {
        await clients.removeKey(full.clientId, keyId, options);
        await untilSeen();
      };
      return { keyId, remove };
    }

    const succeed = ({ status, body }: Reply): Tokens => {
      expect(status).toBe(200);
      return body;
    };
    const byCode = async (secureKey: string = full.secureKey) =>
      succeed(await redeem(await newCode({ client_id: full.clientId }), {}, asFull(secureKey)));
    const byMachine = async (secureKey: string) =>
      succeed(await platform(machineGrant, asFull(secureKey)));
    const refresh = async ({ refresh_token = '' }: Tokens, secureKey: string, server = token) =>
      server(refreshing(refresh_token), asFull(secureKey));

    /** All requests that return tokens for a client secret. */
    const kinds: Readonly<Record<string, (secureKey: string) => Promise<Tokens>>> = {
      'client_credentials, by Basic': async (key) =>
        succeed(await token(machineGrant, asFull(key))),
      'client_credentials, by body': async (client_secret) =>
        succeed(await token({ ...machineGrant, client_id: full.clientId, client_secret }, {})),
      // The unknown parameter makes the provider answer instead of the fast path.
      'client_credentials, by the provider': async (key) =>
        succeed(await token({ ...machineGrant, unknown: '1' }, asFull(key))),
      'client_credentials, at the platform endpoint': byMachine,
      'refresh_token, at the platform endpoint': async (key) =>
        succeed(await refresh(await byMachine(key), key, platform)),
      password: async (key) =>
        succeed(await token({ grant_type: 'password', ...alice }, asFull(key))),
      authorization_code: byCode,
      refresh_token: async (key) => succeed(await refresh(await byCode(), key)),
    };

    async function expectLive({ access_token: value }: Tokens, live: boolean): Promise<void> {
      // The gateway verifies tokens with the last function.
      const verified = (await identity.verifyAccessToken(value)) !== undefined;
      const all = [await isActive(value), await second.isActive(value), verified];
      expect(all).toEqual([live, live, live]);
    }
    const outcomeOf = async (tokens: Tokens) =>
      outcome(await refresh(tokens, newKey, second.platform));

    test.each(Object.entries(kinds))(
      'revokes tokens that it got by %s, and none that the other key got',
      async (_name, issue) => {
        const { remove } = await rotate();
        const [old, current] = [await issue(full.secureKey), await issue(newKey)];
        await expectLive(old, true);
        await remove();
        await expectLive(old, false);
        await expectLive(current, true);
        if (old.refresh_token !== undefined) {
          expect(await outcomeOf(old)).toEqual(rejected);
          expect(await outcomeOf(current)).toEqual([200, undefined]);
        }
      },
    );

    test('keeps the tokens in a planned rotation, until the key is removed again', async () => {
      const { remove } = await rotate();
      const [old, others] = [await byCode(), await byCode()];
      await remove({ keepTokens: true });
      await expectLive(old, true);
      expect(await outcomeOf(old)).toEqual([200, undefined]);
      expect((await token(machineGrant, asFull())).status).toBe(401);
      await remove();
      await expectLive(others, false);
      expect(await outcomeOf(others)).toEqual(rejected);
    });

    test('revokes tokens of a refresh with it, and keeps tokens of a refresh with the other key', async () => {
      const { remove } = await rotate();
      const tainted = succeed(await refresh(await byCode(newKey), full.secureKey));
      const moved = succeed(await refresh(await byCode(), newKey));
      await remove();
      await expectLive(tainted, false);
      await expectLive(moved, true);
    });

    test('is known in tokens by its id only, and tokens from before ids are kept', async () => {
      const { keyId, remove } = await rotate();
      const { access_token } = await byCode();
      const key = `token:${identity.credentialHash(access_token)}`;
      const text = (await system.store.get(key)) ?? '';
      expect(keyId).toMatch(/^[0-9a-f]{12}$/);
      expect(text).not.toContain(full.secureKey);
      const { secureKeyId, ...earlier } = JSON.parse(text);
      expect(secureKeyId).toBe(keyId);
      await system.store.set(key, JSON.stringify(earlier), 7200);
      await remove();
      await expectLive({ access_token }, true);
    });
  });

  test('the revocation of a client ends its tokens and codes for good', async () => {
    const visitor = createPageVisitor();
    const tokens = await first.tokensFor({}, alice, visitor);
    const code = await newCode({}, alice, visitor);
    const enable = (enabled: boolean) =>
      identity.clients.update(web.clientId, (client) => ({ ...client, enabled }));
    await enable(false);
    await untilSeen();
    expect(await isActive(tokens.access_token)).toBe(false);

    await identity.revocations.client(web.clientId);
    await enable(true);
    await untilSeen();
    expect(await isActive(tokens.access_token)).toBe(false);
    expect(outcome(await redeem(code))).toEqual(rejected);
    expect(outcome(await token(refreshing(tokens.refresh_token)))).toEqual(rejected);
  });

  /** The last test, because it ends everything. */
  test('the revocation of the installation ends sessions, codes, devices and all tokens', async () => {
    // Tokens that are issued within the second of the revocation before are revoked with it.
    const issue = async () => (await token(machineGrant)).body.access_token;
    let ofMachine = await issue();
    while (!(await isActive(ofMachine))) {
      ofMachine = await issue();
    }
    const visitor = createPageVisitor();
    const tokens = await first.tokensFor({}, alice, visitor);
    const code = await newCode({}, alice, visitor);
    const device = await first.startDevice();
    await first.connectDevice(device, { visitor });
    const values = [tokens.access_token, ofMachine];
    for (const value of values) {
      expect(await isActive(value)).toBe(true);
    }
    await identity.revocations.everything();
    await untilSeen();
    for (const value of values) {
      expect(await isActive(value)).toBe(false);
    }
    expect(outcome(await redeem(code))).toEqual(rejected);
    expect(outcome(await token(refreshing(tokens.refresh_token)))).toEqual(rejected);
    expect(outcome(await first.poll(device))).toEqual(rejected);
    const silent = await visitor.get(authorizationUrl(silently));
    expect(silent.location).toContain('error=login_required');
  });
});
