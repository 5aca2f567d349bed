// requires: redis-server
import { grantKey, userGrantsKey, userSessionsKey } from '@gatehouse/identity';
import { expect, test } from '@jest/globals';
import { codeOf, describeOnBothEngines, issueToken, operator } from './opened-operators.ts';

describeOnBothEngines('users', (opened) => {
  const newUser = async (username: string, more: object = {}) => {
    const { users } = opened().operators;
    return users.create(operator, { username, name: username, orgId: 'acme', ...more });
  };
  const trail = async (userId: string) =>
    (await opened().operators.audit.list({ user: userId })).items.toReversed();

  test('get a generated password that is shown once, or a supplied one', async () => {
    const { user, password = '' } = await newUser('generated');
    const { identity, operators } = opened();
    expect(await identity.users.verify('generated', password)).toBeDefined();
    const seen = JSON.stringify([
      await operators.users.read(user.userId),
      await operators.users.list(),
    ]);
    expect(seen).not.toMatch(/argon2|[Hh]ash/);
    expect(seen).not.toContain(password);
    expect((await newUser('supplied', { password: 'Trombone-7 lake' })).password).toBeUndefined();
    expect(await codeOf(newUser('Supplied'))).toBe('duplicate_key');
    await expect(newUser('weak', { password: 'short' })).rejects.toMatchObject({
      problems: [{ property: 'password' }],
    });
    expect((await newUser('off', { enabled: false })).user.enabled).toBe(false);
  });

  test('change in the named members, and null removes one', async () => {
    const email = 'Change@Example.com';
    const { user } = await newUser('changing', { email, emailVerified: true, givenName: 'A' });
    const { users } = opened().operators;
    const { userId, version: ifVersion } = user;
    const roles = ['admin'];
    const after = await users.change(operator, userId, { roles, givenName: null }, { ifVersion });
    expect(after).toMatchObject({ roles, email, emailVerified: true });
    expect(after.givenName).toBeUndefined();
    expect(await codeOf(users.change(operator, userId, { name: 'B' }, { ifVersion }))).toBe(
      'precondition_failed',
    );
    const without = await users.change(operator, userId, { email: null });
    expect([without.email, without.emailVerified]).toEqual([undefined, false]);
    expect(await codeOf(users.change(operator, userId, { emailVerified: true }))).toBe('conflict');
    expect((await trail(userId))[1]).toMatchObject({
      ...operator,
      changes: [
        { member: 'roles', from: [], to: roles },
        { member: 'givenName', from: 'A' },
      ],
    });
  });

  test('that are disabled, or get another password or no factors, are signed out', async () => {
    const { operators } = opened();
    const { users } = operators;
    await operators.clients.create(operator, {
      ...{ clientId: 'app', name: 'App', orgId: 'acme', scopes: ['device:read'] },
    });
    // Another process without a copy of the user.
    const isLive = async (token: string) =>
      (await opened().open().identity.verifyAccessToken(token)) !== undefined;
    const acts = {
      disabled: (userId: string) => users.change(operator, userId, { enabled: false }),
      password_changed: (userId: string) => users.setPassword(operator, userId, 'Trombone-8 lake'),
      factors_removed: (userId: string) => users.resetFactors(operator, userId),
      revoked: (userId: string) => operators.tokens.revoke(operator, { userId }),
    };
    for (const [change, act] of Object.entries(acts)) {
      const { userId } = (await newUser(`ending-${change}`)).user;
      const token = await issueToken(opened(), { clientId: 'app', accountId: userId });
      expect([change, await isLive(token)]).toEqual([change, true]);
      await act(userId);
      // Enabling the user again must not restore the token.
      await users.change(operator, userId, { enabled: true });
      expect([change, await isLive(token)]).toEqual([change, false]);
      const changes = (await trail(userId)).map((entry) => 'change' in entry && entry.change);
      expect(changes).toEqual(['added', change, ...(change === 'disabled' ? ['enabled'] : [])]);
    }
  });

  test('get links for a password, which nobody gets who is disabled, and for an account', async () => {
    const { user } = await newUser('linked', { email: 'l@example.com', emailVerified: true });
    const { operators, identity } = opened();
    const { users } = operators;
    const { token } = await users.issueResetLink(operator, user.userId);
    expect(await identity.actionLinks.find('reset', token)).toMatchObject({ userId: user.userId });
    await users.change(operator, user.userId, { enabled: false });
    expect(await codeOf(users.issueResetLink(operator, user.userId))).toBe('conflict');
    const invited = await users.invite(operator, { email: 'n@example.com', orgId: 'acme' });
    expect(await identity.actionLinks.find('invite', invited.token)).toMatchObject({
      email: 'n@example.com',
    });
    await users.withdrawInvitation(operator, 'N@example.com');
    expect(await identity.actionLinks.find('invite', invited.token)).toBeUndefined();
    for (const [email, orgId, code] of [
      ['l@example.com', 'acme', 'conflict'],
      ['n@example.com', 'none', 'conflict'],
      ['nobody', 'acme', 'illegal_argument'],
    ] as const) {
      expect(await codeOf(users.invite(operator, { email, orgId }))).toBe(code);
    }
    const seen = JSON.stringify(await operators.audit.list());
    expect([token, invited.token].filter((each) => seen.includes(each))).toEqual([]);
  });

  test('end one session with its grants, or the access of one application', async () => {
    const { user } = await newUser('sessions');
    const { operators, identity, store } = opened();
    const { userId } = user;
    await operators.clients.create(operator, { clientId: 'web', name: 'Web', orgId: 'acme' });
    const [iat, exp] = [Math.floor(Date.now() / 1000) + 1, Math.floor(Date.now() / 1000) + 900];
    for (const id of ['one', 'two']) {
      const grant = { accountId: userId, clientId: 'web', iat, exp };
      await store.set(grantKey(`${userId}-${id}`), JSON.stringify(grant));
      await store.addToIndex(userGrantsKey(userId), `${userId}-${id}`, exp * 1000);
    }
    const key = 'oidc:Session:someSessionIdentifier';
    const authorizations = { web: { grantId: `${userId}-one` } };
    const session = { uid: 'uid', accountId: userId, loginTs: iat, exp, authorizations };
    await store.set(key, identity.sealer.seal(JSON.stringify(session), key));
    await store.addToIndex(userSessionsKey(userId), key, exp * 1000);

    const { users } = operators;
    expect(await users.previewRemoval(userId)).toMatchObject({ sessions: 1, applications: 2 });
    const { sessions } = await users.read(userId);
    const ended = await users.endSession(operator, userId, sessions[0]?.id ?? '');
    expect(ended).toEqual({ clientIds: ['web'] });
    expect(await users.previewRemoval(userId)).toMatchObject({ sessions: 0, applications: 1 });
    const { grantIds } = await users.endGrants(operator, userId, 'web');
    expect(grantIds).toEqual([`${userId}-two`]);
    for (const again of [
      () => users.endSession(operator, userId, sessions[0]?.id ?? ''),
      () => users.endGrants(operator, userId, 'web'),
    ]) {
      expect(await codeOf(again())).toBe('not_found');
    }
    expect((await trail(userId)).map(({ event }) => event)).toEqual([
      'user_changed',
      'sign_out',
      'grant_revoked',
    ]);
  });

  test('are found by the start of a name or address, until they are removed', async () => {
    const email = 'Zoe.M@corp.example';
    const { user } = await newUser('zoe', { email, name: 'Zoë Wilhelmina van Meyer' });
    const { users } = opened().operators;
    const found = async (search: string) =>
      (await users.list({ search })).items.map(({ username }) => username);
    for (const search of ['zoe', 'ZOË W', 'wilhelm', 'Meyer', 'zoe.m@CORP', user.userId]) {
      expect([search, await found(search)]).toEqual([search, ['zoe']]);
    }
    expect(await users.find('zoe')).toEqual(user);
    await users.change(operator, user.userId, { name: 'Zoë Other' });
    expect(await found('Meyer')).toEqual([]);
    expect(await found('other')).toEqual(['zoe']);
    await users.remove(operator, user.userId);
    expect(await found('zo')).toEqual([]);
    expect(await codeOf(users.read(user.userId))).toBe('not_found');
  });
});
