import { randomBytes } from 'node:crypto';
import type { Store } from '@gatehouse/store';
import { expect, test } from '@jest/globals';
import { grantKey, userGrantsKey, userSessionsKey } from '../secrets/credential-keys.ts';
import { createSealer } from '../secrets/seal.ts';
import type { FindLiveHolder } from '../tokens/access-tokens.ts';
import { createUserSessions } from './user-sessions.ts';

const sealer = createSealer(randomBytes(32));
const lastUse = { at: 300, from: '192.0.2.1', browser: 'Firefox', system: 'Windows' };
const session = {
  ...{ uid: 'uid', accountId: 'alice', loginTs: 200, exp: 900, lastUse },
  authorizations: { web: { sid: 'sid', grantId: 'granted' } },
};
const grant = {
  ...{ accountId: 'alice', clientId: 'web', iat: 200, exp: 900, openid: { scope: 'a b' } },
  ...{ resources: { one: 'c d' }, rejected: { resources: { one: 'd' } } },
};
const texts = new Map([
  ...Object.entries({
    'oidc:Session:older-id': { ...session, loginTs: 150, lastUse: { at: 'damaged' } },
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
  [
    userSessionsKey('alice'),
    ['oidc:Session:older-id', 'live', 'revoked', 'foreign', 'damaged', 'deleted'],
  ],
  [userGrantsKey('alice'), ['live', 'revoked', 'foreign', 'deleted']],
]);
const changed: string[] = [];
const store = {
  get: async (key: string) => texts.get(key),
  members: async (key: string) => indexes.get(key) ?? [],
  set: async (key: string) => void changed.push(key),
  delete: async (keys: readonly string[]) => void changed.push(...keys),
} as unknown as Store;
const findLiveHolder: FindLiveHolder = async ({ issuedAt }) =>
  issuedAt > 100 ? { client: undefined, user: undefined } : undefined;

const userSessions = createUserSessions({
  ...{ store, sealer, findLiveHolder },
  credentialHash: (value) => value,
  now: () => 0,
});

test('The sessions of a user are listed, without revoked, foreign and damaged ones.', async () => {
  const shown = { id: 'live', signedInAt: 200, expiresAt: 900, lastUse, clientIds: ['web'] };
  const found = await userSessions.sessions('alice');
  expect(found).toEqual([shown, { ...shown, id: 'older-id', signedInAt: 150, lastUse: undefined }]);
});

test('One session is ended by its id, with its grants.', async () => {
  for (const id of ['revoked', 'foreign', 'deleted', '']) {
    expect(await userSessions.end('alice', id)).toBeUndefined();
  }
  expect(changed).toEqual([]);
  expect(await userSessions.end('alice', 'older-id')).toEqual([{ clientId: 'web', sid: 'sid' }]);
  expect(changed).toEqual([
    'session-ended:uid',
    'grant-tombstone:granted',
    ...['grant-members:granted', 'grant:granted', 'oidc:Session:older-id'],
  ]);
});

test('The grants of a user are listed, without revoked and foreign ones.', async () => {
  expect(await userSessions.grants('alice')).toEqual([
    { id: 'live', clientId: 'web', since: 200, expiresAt: 900, scope: 'a b c' },
  ]);
});
