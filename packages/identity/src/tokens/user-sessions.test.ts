import { randomBytes } from 'node:crypto';
import type { Store } from '@gatehouse/store';
import { expect, test } from '@jest/globals';
import { grantKey, userGrantsKey, userSessionsKey } from '../secrets/credential-keys.ts';
import { createSealer } from '../secrets/seal.ts';
import type { FindLiveHolder } from '../tokens/access-tokens.ts';
import { createUserSessions } from './user-sessions.ts';

const sealer = createSealer(randomBytes(32));
const session = { accountId: 'alice', loginTs: 200, exp: 900, authorizations: { web: {} } };
const grant = {
  ...{ accountId: 'alice', clientId: 'web', iat: 200, exp: 900, openid: { scope: 'a b' } },
  ...{ resources: { one: 'c d' }, rejected: { resources: { one: 'd' } } },
};
const texts = new Map([
  ...Object.entries({
    older: { ...session, loginTs: 150 },
    live: session,
    revoked: { ...session, loginTs: 100 },
    foreign: { ...session, accountId: 'bob' },
  }).map(([key, value]) => [key, sealer.seal(JSON.stringify(value), key)] as const),
  ['damaged', 'not sealed'],
  ...Object.entries({
    live: grant,
    revoked: { ...grant, iat: 100 },
    foreign: { ...grant, accountId: 'bob' },
  }).map(([id, value]) => [grantKey(id), JSON.stringify(value)] as const),
]);
const indexes = new Map([
  [userSessionsKey('alice'), ['older', 'live', 'revoked', 'foreign', 'damaged', 'deleted']],
  [userGrantsKey('alice'), ['live', 'revoked', 'foreign', 'deleted']],
]);
const store = {
  get: async (key: string) => texts.get(key),
  members: async (key: string) => indexes.get(key) ?? [],
} as unknown as Store;
const findLiveHolder: FindLiveHolder = async ({ issuedAt }) =>
  issuedAt > 100 ? { client: undefined, user: undefined } : undefined;

const userSessions = createUserSessions(store, sealer, findLiveHolder);

test('The sessions of a user are listed, without revoked, foreign and damaged ones.', async () => {
  const shown = { signedInAt: 200, expiresAt: 900, clientIds: ['web'] };
  const found = await userSessions.sessions('alice');
  expect(found).toEqual([shown, { ...shown, signedInAt: 150 }]);
});

test('The grants of a user are listed, without revoked and foreign ones.', async () => {
  expect(await userSessions.grants('alice')).toEqual([
    { id: 'live', clientId: 'web', since: 200, expiresAt: 900, scope: 'a b c' },
  ]);
});
