// requires: redis-server
/** No link works twice, however many requests present it at the same moment. */
import { randomBytes } from 'node:crypto';
import { openIdentity } from '@gatehouse/identity';
import { describe, expect, test } from '@jest/globals';
import { openStores } from './server.ts';

const ROUNDS = 200;
const REQUESTS = 50;

describe.each(await openStores())('on $engine', ({ system: { store } }) => {
  const masterKey = randomBytes(32);
  const servers = [openIdentity({ store, masterKey }), openIdentity({ store, masterKey })] as const;
  const [{ actionLinks, organizations, settings, users }] = servers;
  const orgId = 'org-1';

  test.each(['reset', 'verify', 'register', 'invite'] as const)(
    'a %s link is taken once in each of 200 races of 50 requests',
    async (kind) => {
      await organizations.save({ id: orgId, name: 'Example' });
      await settings.apply({ registration: { organizations: { [orgId]: { open: true } } } });
      const { userId } = await users.add({
        ...{ username: `user-${kind}`, name: 'User', orgId, roles: [] },
        ...{ email: 'user@example.com', emailVerified: false, passwordHash: 'a hash' },
      });
      const email = 'new@example.com';
      const link = {
        reset: { kind: 'reset', userId },
        verify: { kind: 'verify', userId, email },
        register: { kind: 'register', orgId, email },
        invite: { kind: 'invite', orgId, email },
      } as const;
      const winners: number[] = [];
      for (let round = 0; round < ROUNDS; round += 1) {
        const token = (await actionLinks.issue(link[kind])) ?? '';
        const taken = await Promise.all(
          Array.from({ length: REQUESTS }, (_, i) =>
            servers[i % 2 === 0 ? 0 : 1].actionLinks.take(kind, token),
          ),
        );
        winners.push(taken.filter((each) => each !== undefined).length);
      }
      expect(winners).toEqual(Array(ROUNDS).fill(1));
    },
  );

  test('one address gets one account in 50 concurrent registrations', async () => {
    for (let round = 0; round < 10; round += 1) {
      const email = `race-${round}@example.com`;
      const results = await Promise.allSettled(
        Array.from({ length: REQUESTS }, (_, i) =>
          servers[i % 2 === 0 ? 0 : 1].users.add({
            ...{ username: `race-${round}-${i}`, name: 'Race', orgId: 'org-1', roles: [] },
            ...{ email, emailVerified: true, passwordHash: 'a hash' },
          }),
        ),
      );
      expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    }
  });
});
