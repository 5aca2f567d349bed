// requires: redis-server
import { randomUUID } from 'node:crypto';
import { storeEngines } from '@gatehouse/testing';
import { describe, expect, test } from '@jest/globals';
import {
  credentialId,
  credentialKey,
  grantKey,
  grantMembersKey,
  grantTombstoneKey,
} from '../src/index.ts';
import { createXAccessTokens } from '../src/tokens/x-access-tokens.ts';
import { describeOnEngines, newClient } from './engines.ts';

const START = 1_800_000_000_500;

describeOnEngines(
  'revocation by operators',
  ({ openIdentity, openStore }) => {
    async function prepare() {
      let now = START;
      const clock = () => now;
      const operator = openIdentity(clock);
      const server = openIdentity(clock);
      await operator.store.delete(['not-before']);
      const { clientId } = await operator.clients.save(newClient());
      const { userId } = await operator.users.ensure({
        username: randomUUID(),
        password: 'some password',
        name: 'A',
        orgId: 'org-1',
      });
      const issue = async (kind: string, members: object = {}) => {
        const value = randomUUID();
        const record = { kind, clientId, iat: Math.floor(now / 1000), exp: now / 1000 + 7200 };
        const text = JSON.stringify({ ...record, exp: Math.floor(record.exp), ...members });
        await server.store.set(credentialKey(kind, server.credentialHash(value)), text);
        return value;
      };
      const isAlive = async (token: string) =>
        (await server.verifyAccessToken(token)) !== undefined;
      const advance = (milliseconds: number) => {
        now += milliseconds;
      };
      return { operator, server, clientId, userId, issue, isAlive, advance };
    }

    describe('links', () => {
      /** One of each kind, and which of them work. */
      async function issueLinks() {
        const prepared = await prepare();
        const { server, userId, advance } = prepared;
        const { actionLinks, organizations, settings } = server;
        const orgId = randomUUID();
        const email = `${orgId}@example.com`;
        const declare = (registration: { open: boolean; emailDomains?: string[] }) =>
          settings.apply({ registration: { organizations: { [orgId]: registration } } });
        await declare({ open: true });
        await organizations.save({ id: orgId, name: 'One' });
        const issue = () =>
          Promise.all([
            actionLinks.issue({ kind: 'reset', userId }),
            actionLinks.issue({ kind: 'verify', userId, email }),
            actionLinks.issue({ kind: 'register', orgId, email }),
            actionLinks.issue({ kind: 'invite', orgId, email }),
          ]);
        const kinds = ['reset', 'verify', 'register', 'invite'] as const;
        const tokens = await issue();
        async function working(of = tokens) {
          advance(50);
          const found = kinds.map((kind, i) => actionLinks.find(kind, of[i] ?? ''));
          const links = await Promise.all(found);
          return kinds.filter((kind, i) => links[i]?.kind === kind);
        }
        expect(await working()).toEqual(kinds);
        return { ...prepared, orgId, email, declare, issue, working };
      }

      test.each([
        ['user', ['register', 'invite']],
        ['everything', []],
      ] as const)('end with the not-before of %s', async (what, left) => {
        const { operator, userId, issue, working } = await issueLinks();
        await operator.revocations[what](userId);
        expect(await working()).toEqual(left);
        expect(await working(await issue())).toHaveLength(4);
      });

      test('for a new account end with the registration, or the organization', async () => {
        const { server, orgId, declare, working } = await issueLinks();
        await declare({ open: true, emailDomains: ['elsewhere.example'] });
        expect(await working()).toEqual(['reset', 'verify', 'invite']);
        await declare({ open: false });
        expect(await working()).toEqual(['reset', 'verify', 'invite']);
        await declare({ open: true });
        await server.removals.organization(orgId, async () => undefined);
        expect(await working()).toEqual(['reset', 'verify']);
        await server.organizations.save({ id: orgId, name: 'Again' });
        expect(await working()).toEqual(['reset', 'verify']);
      });

      test('for a new account end with the use of one, and with the removal of the account', async () => {
        const { server, orgId, email, issue, working } = await issueLinks();
        const [, , , invitation = ''] = await issue();
        expect(await server.actionLinks.take('invite', invitation)).toBeDefined();
        expect(await working()).toEqual(['reset', 'verify']);

        const later = await issue();
        const member = { orgId, email, emailVerified: true, name: 'A', roles: [] };
        const user = await server.users.add({ ...member, username: randomUUID() });
        // No other account gets the address.
        expect(await working(later)).toEqual(['reset']);
        expect(await server.actionLinks.issue({ kind: 'invite', orgId, email })).toBeUndefined();
        await server.removals.user(user, async () => undefined);
        expect(await working(later)).toEqual(['reset', 'verify']);
      });
    });

    test.each(['client', 'user', 'everything'] as const)(
      'other processes reject credentials from before the not-before of %s after 50 ms, but accept newer ones',
      async (what) => {
        const { operator, clientId, userId, issue, isAlive, advance } = await prepare();
        const before = await issue('AccessToken', { accountId: userId });
        expect(await isAlive(before)).toBe(true);
        await {
          client: () => operator.revocations.client(clientId),
          user: () => operator.revocations.user(userId),
          everything: () => operator.revocations.everything(),
        }[what]();
        advance(50);
        expect(await isAlive(before)).toBe(false);
        // A request that is being served may still issue within the same second or the next.
        advance(500);
        expect(await isAlive(await issue('AccessToken', { accountId: userId }))).toBe(false);
        advance(1000);
        expect(await isAlive(await issue('AccessToken', { accountId: userId }))).toBe(true);
        expect(await isAlive(before)).toBe(false);
      },
    );

    test('revoking a client does not affect others', async () => {
      const { operator, issue, isAlive, advance } = await prepare();
      const token = await issue('ClientCredentials');
      const other = await operator.clients.save(newClient());
      await operator.revocations.client(other.clientId);
      advance(50);
      expect(await isAlive(token)).toBe(true);
      await expect(operator.revocations.client('nobody')).rejects.toThrow(
        'The client nobody does not exist',
      );
      await expect(operator.revocations.user('nobody')).rejects.toThrow(
        'The user nobody does not exist',
      );
    });

    test('a not-before never decreases, and a damaged one revokes everything', async () => {
      const { operator, issue, isAlive, advance } = await prepare();
      advance(10_000_000);
      await operator.revocations.everything();
      const epoch = await operator.store.get('not-before');
      advance(-10_000_000);
      await operator.revocations.everything();
      expect(await operator.store.get('not-before')).toBe(epoch);
      advance(20_000_000);
      const token = await issue('ClientCredentials');
      expect(await isAlive(token)).toBe(true);
      await openStore().set('not-before', 'garbage');
      advance(50);
      expect(await isAlive(token)).toBe(false);
      await operator.revocations.everything();
      advance(2050);
      expect(await isAlive(await issue('ClientCredentials'))).toBe(true);
    });

    test('a token is revoked by its value, together with its grant', async () => {
      const { operator, server, clientId, userId, issue, isAlive } = await prepare();
      const grantId = randomUUID();
      const members = { accountId: userId, grantId };
      const access = await issue('AccessToken', members);
      const refresh = await issue('RefreshToken', members);
      for (const [kind, value] of [
        ['AccessToken', access],
        ['RefreshToken', refresh],
      ] as const) {
        const key = credentialKey(kind, server.credentialHash(value));
        await server.store.addToIndex(grantMembersKey(grantId), key, Date.now() + 100_000);
      }
      await server.store.set(grantKey(grantId), '{}');
      expect(await operator.revocations.token(refresh)).toEqual({
        kind: 'RefreshToken',
        clientId,
        userId,
        tokenIds: [credentialId(server.credentialHash(refresh))],
        grantId,
      });
      expect(await isAlive(access)).toBe(false);
      expect(await server.store.get(grantKey(grantId))).toBeUndefined();
      expect(await server.store.get(grantTombstoneKey(grantId))).toBe('');
      expect(await operator.revocations.token(refresh)).toBeUndefined();
    });

    test('a token without a grant is revoked alone, and an unknown token is reported as unknown', async () => {
      const { operator, issue, isAlive } = await prepare();
      const [one, two] = [await issue('ClientCredentials'), await issue('ClientCredentials')];
      expect(await operator.revocations.token(one)).toMatchObject({ kind: 'ClientCredentials' });
      expect([await isAlive(one), await isAlive(two)]).toEqual([false, true]);
      expect(await operator.revocations.token('never issued')).toBeUndefined();
      expect(await operator.revocations.token('')).toBeUndefined();
    });

    test('an X-Access-Token is revoked by its value and by every not-before', async () => {
      const { operator, server, clientId, advance } = await prepare();
      await operator.clients.save(newClient({ clientId }), 'someKey0123456789');
      const now = () => START;
      const { issue, verify } = createXAccessTokens({ ...server, now });
      advance(1000);
      const [one, two] = [await issue({ clientId }, 600), await issue({ clientId }, 600)];
      expect(await verify(one)).toBeDefined();
      expect(await operator.revocations.token(one)).toMatchObject({
        kind: 'XAccessToken',
        clientId,
      });
      expect(await verify(one)).toBeUndefined();
      expect(await verify(two)).toBeDefined();
      await operator.revocations.everything();
      advance(50);
      expect(await verify(two)).toBeUndefined();
    });
  },
  storeEngines,
);
