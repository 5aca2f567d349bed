// requires: redis-server
/** Who may use the API of the console: the settings, the clients, and the verifier of its tokens. */
import { randomUUID } from 'node:crypto';
import { failureReasons } from '@gatehouse/errors';
import { describe, expect, test } from '@jest/globals';
import { prepareStore } from '../src/connect-identity.ts';
import {
  CONSOLE_CLIENT_ID,
  consoleSecret,
  credentialKey,
  describeScope,
  grantTombstoneKey,
  type Identity,
  identityVariables,
  isScopeForRoles,
  ONE_FACTOR,
  openIdentity,
  operatorScopes,
  TWO_FACTORS,
  type User,
} from '../src/index.ts';
import { MAXIMUM_RECORD_AGE_MILLISECONDS } from '../src/records/record.ts';
import { PHISHING_RESISTANT } from '../src/users/authentication-context.ts';
import { describeOnEngines, type EngineSubject, newClient } from './engines.ts';

const CONSOLE = 'https://console.example';
const API = `${CONSOLE}/admin/v1`;
const ISSUED_AT = Math.floor(Date.now() / 1000) - 10;
const [READ, WRITE] = operatorScopes;

/** An installation with a console, and a clock that the test sets. */
function open({ openStore, masterKey }: EngineSubject) {
  let now = (ISSUED_AT + 10) * 1000;
  const store = openStore();
  const identity = openIdentity({ store, masterKey, consoleUrl: CONSOLE, now: () => now });
  return {
    identity,
    /** Also lets the copies of records expire. */
    advance(seconds = 0) {
      now += seconds * 1000 + MAXIMUM_RECORD_AGE_MILLISECONDS + 1;
    },
  };
}

/** Written directly, because hashing a password would take longer than the test. */
async function addUser({ store }: Identity, roles: string[]): Promise<User> {
  const user: User = {
    ...{ userId: randomUUID(), username: 'olivia', name: 'Olivia', orgId: 'org-1', roles },
    ...{ emailVerified: false, enabled: true, notBefore: 0, passwordHash: 'none' },
  };
  await store.set(`user:${user.userId}`, JSON.stringify(user));
  return user;
}

describeOnEngines('the API of the console', (subject) => {
  /** An operator, and the tokens of the console as the authorization server stores them. */
  async function prepare() {
    const { identity, advance } = open(subject);
    const role = randomUUID();
    await identity.settings.apply({ operators: { roles: [role] } });
    const user = await addUser(identity, [role]);
    const record = {
      ...{ kind: 'AccessToken', clientId: CONSOLE_CLIENT_ID, accountId: user.userId, aud: API },
      ...{ scope: `openid ${READ} ${WRITE}`, iat: ISSUED_AT, exp: ISSUED_AT + 900 },
      ...{ acr: TWO_FACTORS, authTime: ISSUED_AT - 60, sessionUid: 'uid', grantId: randomUUID() },
    };
    async function store(changed: object = {}): Promise<string> {
      const token = randomUUID();
      const key = credentialKey('AccessToken', identity.credentialHash(token));
      await identity.store.set(key, JSON.stringify({ ...record, ...changed }));
      return token;
    }
    const check = async (token: string | undefined, scope = READ as typeof READ | typeof WRITE) => {
      const result = await identity.verifyOperatorToken(token, scope);
      return 'refused' in result ? result.refused : 'accepted';
    };
    return { identity, advance, role, user, record, store, check };
  }

  test('opens for an operator with two factors, and tells who it is', async () => {
    const { identity, user, store } = await prepare();
    const access = await identity.verifyOperatorToken(await store(), WRITE);
    expect(access).toEqual({
      clientId: CONSOLE_CLIENT_ID,
      userId: user.userId,
      scopes: new Set([READ, WRITE]),
      acr: TWO_FACTORS,
      authTime: ISSUED_AT - 60,
      sessionId: expect.stringMatching(/^[\w-]{16}$/),
    });
    const other = await identity.verifyOperatorToken(await store({ sessionUid: 'other' }), READ);
    expect(Reflect.get(other, 'sessionId')).not.toBe(Reflect.get(access, 'sessionId'));
  });

  test('names the reason of each rejection', async () => {
    const { identity, advance, store, check, record } = await prepare();
    const outsider = await addUser(identity, ['another role']);
    const disabled = await addUser(identity, []);
    await identity.store.set(
      `user:${disabled.userId}`,
      JSON.stringify({ ...disabled, enabled: false }),
    );
    const grantId = randomUUID();
    await identity.store.set(grantTombstoneKey(grantId), '', 60);
    for (const [changed, expected] of [
      [{ exp: ISSUED_AT }, 'token_expired'],
      [{ grantId }, 'token_revoked'],
      [{ accountId: disabled.userId }, 'token_revoked'],
      [{ aud: undefined, scope: 'device:read' }, 'token_for_other_resource'],
      [{ aud: 'https://billing.example' }, 'token_for_other_resource'],
      [{ aud: `${API}/x` }, 'token_for_other_resource'],
      [{ accountId: outsider.userId }, 'role_missing'],
      [{ acr: ONE_FACTOR }, 'user_authentication_insufficient'],
      [{ acr: undefined }, 'user_authentication_insufficient'],
      [{ acr: PHISHING_RESISTANT }, 'accepted'],
      [{ scope: WRITE }, 'access_denied'],
      [{ scope: undefined }, 'access_denied'],
      [{ kind: 'RefreshToken' }, 'token_unknown'],
    ] as const) {
      expect([changed, await check(await store(changed))]).toEqual([changed, expected]);
      expect(expected === 'accepted' || failureReasons[expected].cause).not.toBe('');
    }
    expect(await check(await store({ scope: READ }), WRITE)).toBe('access_denied');
    expect([await check(undefined), await check('')]).toEqual(Array(2).fill('token_missing'));
    expect(await check(randomUUID())).toBe('token_unknown');
    const token = await store();
    advance(record.exp - ISSUED_AT);
    expect(await check(token)).toBe('token_expired');
  });

  test('is for no user by default, and keeps its roles when other settings change', async () => {
    const { identity, role } = await prepare();
    await identity.settings.apply({ roles: ['another change'] });
    const declared = await identity.settings.read();
    expect(declared.operators?.roles).toEqual([role]);
    await identity.settings.apply({ operators: { roles: [] } });
    const empty = await identity.settings.read();
    for (const scope of operatorScopes) {
      expect(isScopeForRoles(scope, [role], declared)).toBe(true);
      expect(isScopeForRoles(scope, ['another', ''], declared)).toBe(false);
      expect(isScopeForRoles(scope, [role], empty)).toBe(false);
    }
  });

  test('opens for a machine with its own token, but for none of its other credentials', async () => {
    const { identity, store, check } = await prepare();
    const secureKey = 'a secure key of some length';
    const client = await identity.clients.save(newClient({ scopes: [READ] }), secureKey);
    expect(client.defaultResource).toBe(API);
    const { clientId } = client;
    const own = { kind: 'ClientCredentials', clientId, accountId: undefined, acr: undefined };
    const token = await store({ ...own, scope: READ });
    expect(await identity.verifyOperatorToken(token, READ)).toEqual({
      ...{ clientId, scopes: new Set([READ]), userId: undefined },
      ...{ acr: undefined, authTime: undefined, sessionId: undefined },
    });
    // It is not registered for this scope.
    expect(await check(await store({ ...own, scope: `${READ} ${WRITE}` }), WRITE)).toBe(
      'access_denied',
    );
    const exchanged = await identity.xAccessTokens.issue({ clientId }, 60);
    expect(await check(exchanged)).toBe('token_unknown');
    expect((await identity.xAccessTokens.verify(exchanged))?.scopes).toEqual(new Set());
    expect((await identity.principalOf(client)).scopes).toEqual(new Set());
    const removed = await identity.clients.save({ ...client, scopes: [] });
    expect(removed.clientId).toBe(clientId);
    expect(await check(token)).toBe('access_denied');
  });

  test('is closed to clients that no operator registered', async () => {
    const { identity, store, check } = await prepare();
    await identity.settings.apply({
      clientIdMetadata: { hosts: ['agent.example'], scopes: [READ, 'device:read'] },
    });
    const { clientIdMetadata } = await identity.settings.read();
    expect(clientIdMetadata.scopes).toEqual(['device:read']);
    const clientId = `https://agent.example/${randomUUID()}`;
    const described = newClient({ clientId, public: true, scopes: [READ, 'device:read'] });
    await identity.clients.rememberDocument(clientId, ISSUED_AT + 3600, described);
    expect((await identity.clients.find(clientId))?.scopes).toEqual(['device:read']);
    expect(await check(await store({ clientId }))).toBe('access_denied');
    await identity.settings.apply({ clientIdMetadata: { hosts: ['agent.example'] } });
    expect((await identity.clients.find(clientId))?.scopes).not.toContain(READ);

    const allowed = { orgId: 'org-1', count: 1, validFor: 1, redirectHosts: ['app.example'] };
    await expect(identity.registrationTokens.issue({ ...allowed, scopes: [READ] })).rejects.toThrow(
      `No resource declares the scope ${READ}`,
    );
    const registration = { tokenHash: 'x', issuedAt: ISSUED_AT, redirectHosts: ['app.example'] };
    const registered = newClient({ registration, scopes: ['device:read'] });
    await expect(identity.clients.save({ ...registered, scopes: [READ] })).rejects.toThrow(
      'cannot have the scope',
    );
    const saved = await identity.clients.save(registered);
    // A scope of this name could have belonged to another resource before.
    const known = { ...saved, scopes: ['device:read', READ] };
    await identity.store.set(`client:${saved.clientId}`, JSON.stringify(known));
    const other = open(subject).identity;
    expect((await other.clients.find(saved.clientId))?.scopes).toEqual(['device:read']);
    const token = await store({ clientId: saved.clientId });
    expect(await other.verifyOperatorToken(token, READ)).toEqual({ refused: 'access_denied' });
  });

  test('does not exist without the address of the console', async () => {
    const { store } = await prepare();
    const token = await store();
    const without = subject.openIdentity();
    expect((await without.settings.read()).operators).toBeUndefined();
    expect(await without.clients.find(CONSOLE_CLIENT_ID)).toBeUndefined();
    expect(await without.verifyOperatorToken(token, READ)).toEqual({ refused: 'token_revoked' });
    await expect(without.clients.save(newClient({ scopes: [READ] }))).rejects.toThrow(
      'set CONSOLE_URL',
    );
  });

  test('does not take over the scope of another resource', async () => {
    const without = subject.openIdentity();
    const other = { resource: `https://${randomUUID()}.example`, name: 'Machines' };
    const scopes = { [READ]: { description: 'See machines', roles: [] } };
    const { identity } = open(subject);
    const declared = { ...other, scopes };
    await expect(identity.settings.apply({ resources: [declared] })).rejects.toThrow(
      'Rename it, or unset CONSOLE_URL.',
    );
    await without.settings.apply({ resources: [declared] });
    const client = await without.clients.save(newClient({ scopes: [READ] }));
    expect(client.defaultResource).toBe(other.resource);
    const conflicting = open(subject).identity;
    const settings = await conflicting.settings.read();
    expect([settings.operators, settings.scopes.get(READ)?.resource.name]).toEqual([
      undefined,
      'Machines',
    ]);
    const source = { bootstrap: undefined, publicUrl: 'http://localhost:9000' };
    const start = () => prepareStore(conflicting, source, { actor: 'cli' });
    await expect(start()).rejects.toThrow('CONSOLE_URL');
    await conflicting.settings.apply({ resources: [{ ...other, scopes: {} }] });
    await expect(start()).resolves.toBeUndefined();
  });

  test('has a client that every process knows by the same secret', async () => {
    const [one, other] = [open(subject).identity, open(subject).identity];
    const client = await one.clients.find(CONSOLE_CLIENT_ID);
    expect(client).toMatchObject({
      ...{ public: false, firstParty: true, defaultResource: API },
      ...{ redirectUris: [`${CONSOLE}/callback`], scopes: ['openid', 'profile', READ, WRITE] },
      lifetimes: { accessToken: 900, refreshToken: 8 * 3600 },
    });
    const secret = consoleSecret(subject.masterKey);
    const found = await other.clients.find(CONSOLE_CLIENT_ID);
    expect(one.clients.identifySecret(client, secret)).toBe(
      other.clients.identifySecret(found, secret),
    );
    expect(one.clients.verifySecret(client, secret)).toBe(true);
    expect(one.clients.verifySecret(client, `${secret}x`)).toBe(false);
    expect(one.clients.verifySecret(client, '')).toBe(false);
    await expect(one.clients.update(CONSOLE_CLIENT_ID, (each) => each)).rejects.toThrow(
      'does not exist',
    );
    expect((await one.clients.list()).map(({ clientId }) => clientId)).not.toContain(
      CONSOLE_CLIENT_ID,
    );
  });

  test('is described in every language of the pages', async () => {
    const { operators } = await open(subject).identity.settings.read();
    const languages = ['en', 'zh-CN', 'zh-TW', 'ja', 'ko', 'de', 'fr', 'es', 'pt'];
    for (const scope of operatorScopes) {
      const declared = operators?.scopes.get(scope);
      const texts = languages.map((language) => declared && describeScope(declared, language));
      expect([scope, new Set(texts).size, texts.includes(undefined)]).toEqual([scope, 9, false]);
    }
  });
});

describe('CONSOLE_URL', () => {
  test.each([
    ['http://localhost:9020', true],
    ['https://console.example', true],
    ['https://console.example/', false],
    ['https://console.example/path', false],
    ['http://console.example', false],
    ['https://user@console.example', false],
    ['console.example', false],
  ])('%s is an origin that can be protected: %s', (url, isValid) => {
    expect(identityVariables.CONSOLE_URL.safeParse(url).success).toBe(isValid);
  });
});
