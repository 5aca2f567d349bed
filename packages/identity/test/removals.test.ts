// requires: redis-server
import { randomUUID } from 'node:crypto';
import { expect, test } from '@jest/globals';
import { type AuditEvent, accessTokenKey, type Identity, type User } from '../src/index.ts';
import { describeOnEngines, newClient } from './engines.ts';

describeOnEngines('removals', ({ openIdentity, openStore }) => {
  const newUser = (changes: object = {}) => ({
    username: `user-${randomUUID()}`,
    password: 'some password',
    name: 'A',
    orgId: 'org-1',
    ...changes,
  });
  const auditTo = (identity: Identity) => (event: AuditEvent) =>
    identity.audit.write(event, { actor: 'test' });
  const ignore = async () => undefined;

  async function issue(identity: Identity, holder: object): Promise<string> {
    const token = randomUUID();
    const iat = Math.floor(Date.now() / 1000);
    const record = { kind: 'AccessToken', iat, exp: iat + 7200, ...holder };
    const key = accessTokenKey(identity.credentialHash(token));
    await identity.store.set(key, JSON.stringify(record));
    return token;
  }

  /** Renames, with the events that the command records. */
  async function rename(identity: Identity, before: User, username: string, changes = {}) {
    const { after, events } = await identity.auditedChanges.changeUser(before.userId, (user) => ({
      ...user,
      username,
      ...changes,
    }));
    await Promise.all(events.map(auditTo(identity)));
    return after;
  }

  test('a removed user has no valid token, and nothing leads from the id to a person', async () => {
    const [operator, server] = [openIdentity(), openIdentity()];
    const { clientId } = await operator.clients.save(newClient());
    const email = `${randomUUID()}@example.com`;
    const user = await operator.users.ensure(newUser({ email, emailVerified: true }));
    const { userId, username } = user;
    const token = await issue(server, { clientId, accountId: userId });
    expect(await server.verifyAccessToken(token)).toBeDefined();
    const other = `renamed-${randomUUID()}`;
    const renamed = await rename(operator, user, other, { email: `other-${email}`, roles: ['r'] });
    server.lastUse.noteUser(userId);
    const entry = async () => (await operator.audit.read({ userId, limit: 10 })).at(-1);
    const read = async () => operator.auditedChanges.read((await entry()) as never);
    expect(await read()).toEqual([
      { member: 'roles', from: [], to: ['r'] },
      { member: 'username', from: username, to: other },
      { member: 'email', from: email, to: `other-${email}` },
    ]);

    await operator.removals.user(renamed, auditTo(operator));
    await new Promise((resolve) => setTimeout(resolve, 60));
    expect(await server.verifyAccessToken(token)).toBeUndefined();
    expect(await server.users.find(userId)).toBeUndefined();
    expect(await server.users.verify(other, 'some password')).toBeUndefined();
    expect(await operator.audit.read({ userId, limit: 10 })).toMatchObject([
      { change: 'removed' },
      { change: 'changed' },
    ]);
    expect(await read()).toEqual([
      { member: 'roles', from: [], to: ['r'] },
      { member: 'username' },
      { member: 'email' },
    ]);
    const trail = JSON.stringify(await operator.audit.read({ limit: 1000 }));
    expect(trail).toContain(userId);
    expect([username, other, email].filter((name) => trail.includes(name))).toEqual([]);
    const names = [username, other].map((each) => `username:${each}`);
    const emails = [email, `other-${email}`].map((each) => `email:${each}`);
    const keys = [`user:${userId}`, `last-use:user:${userId}`, `audit-key:${userId}`];
    for (const key of [...names, ...emails, ...keys]) {
      expect(await operator.store.get(key)).toBeUndefined();
    }
    const again = await operator.users.ensure(newUser({ username: other }));
    expect(again.userId).not.toBe(userId);
  });

  test('credentials of a removed client stay invalid if a client with its id is added', async () => {
    let now = Date.now();
    const identity = openIdentity(() => now);
    const secureKey = 'someSecureKey0123456';
    const definition = newClient();
    const client = await identity.clients.save(definition, secureKey);
    const { clientId } = client;
    const token = await issue(identity, { clientId });
    const issued = await identity.xAccessTokens.issue({ clientId }, 7200);
    const [index] = await identity.store.members(`x-access-tokens:${clientId}`);
    expect(await identity.removals.countTokens(clientId)).toBe(1);
    await identity.removals.client(client, ignore);
    expect(await identity.clients.find(clientId)).toBeUndefined();
    expect(await identity.store.get(`x-access-token:${index}`)).toBeUndefined();
    expect(await identity.removals.countTokens(clientId)).toBe(0);
    now += 2000;
    const again = await identity.clients.save(definition, secureKey);
    expect(again.notBefore).toBeGreaterThan(0);
    expect(await identity.verifyAccessToken(token)).toBeUndefined();
    expect(await identity.xAccessTokens.verify(issued)).toBeUndefined();
  });

  test('removing an organization ends all credentials of its members, and an interrupted removal continues', async () => {
    const [identity, server] = [openIdentity(), openIdentity()];
    const orgId = `org-${randomUUID()}`;
    await identity.organizations.save({ id: orgId, name: 'A' });
    const bystander = await identity.clients.save(newClient());
    const clients = [newClient({ orgId }), newClient({ orgId })];
    const saved = await Promise.all(clients.map((client) => identity.clients.save(client)));
    const user = await identity.users.ensure(newUser({ orgId }));
    const tokens = await Promise.all([
      issue(identity, { clientId: saved[0]?.clientId }),
      issue(identity, { clientId: bystander.clientId, accountId: user.userId }),
    ]);
    const usable = async () => [
      ...(await Promise.all(tokens.map((token) => server.verifyAccessToken(token)))),
      await server.clients.find(saved[1]?.clientId ?? ''),
      await server.users.verify(user.username, 'some password'),
    ];
    expect(await usable()).not.toContain(undefined);
    await identity.settings.apply({
      branding: { organizations: { [orgId]: { name: 'A' }, 'org-1': { name: 'B' } } },
      secondFactor: {
        ...{ organizations: { [orgId]: 'required', 'org-1': 'required' }, roles: {}, clients: {} },
      },
      registration: { organizations: { [orgId]: { open: true }, 'org-1': { open: true } } },
    });
    const allowed = { count: 1, validFor: 1, scopes: [], redirectHosts: ['localhost'] };
    const { token } = await identity.registrationTokens.issue({ orgId, ...allowed });
    const others = await identity.registrationTokens.issue({ orgId: 'org-1', ...allowed });
    const failing = async () => {
      throw new Error('interrupted');
    };
    await expect(identity.removals.organization(orgId, failing)).rejects.toThrow('interrupted');
    await new Promise((resolve) => setTimeout(resolve, 60));
    expect(await usable()).toEqual([undefined, undefined, undefined, undefined]);
    expect(await server.users.readStored(user.userId)).toBeDefined();
    expect(await identity.organizations.find(orgId)).toBeUndefined();
    expect(await identity.removals.organization(orgId, auditTo(identity))).toMatchObject({
      users: 1,
    });
    const { branding, secondFactor, registration } = (await identity.settings.read()).definition;
    for (const member of [branding, secondFactor, registration]) {
      expect(Object.keys(member?.organizations ?? {})).toEqual(['org-1']);
    }
    const left = [...saved.map(({ clientId }) => clientId), bystander.clientId].map((clientId) =>
      identity.clients.find(clientId),
    );
    expect(await Promise.all(left)).toEqual([undefined, undefined, bystander]);
    expect(await identity.users.find(user.userId)).toBeUndefined();
    expect(await identity.registrationTokens.find(token)).toBeUndefined();
    expect(await identity.registrationTokens.find(others.token)).toBeDefined();
    expect(await identity.removals.membersOf(orgId)).toEqual({ clients: [], users: [] });
    await identity.organizations.save({ id: orgId, name: 'B' });
    expect(await identity.organizations.find(orgId)).toEqual({ id: orgId, name: 'B' });
    expect(await identity.organizations.removedAt(orgId)).toBeGreaterThan(0);
  });

  test('one of many users gets a name, and every user has exactly one', async () => {
    const processes = Array.from({ length: 4 }, () => openIdentity());
    const [first] = processes as [Identity];
    const users = await Promise.all(processes.map(({ users }) => users.ensure(newUser())));
    const wanted = `wanted-${randomUUID()}`;
    const results = await Promise.allSettled(
      Array.from({ length: 12 }, (_, i) => {
        const at = i % 4;
        return processes[at]?.users.update(users[at]?.userId ?? '', (user) => ({
          ...user,
          username: wanted,
        }));
      }),
    );
    const winners = results.flatMap((each) => (each.status === 'fulfilled' ? each.value : []));
    expect(new Set(winners.map((each) => each?.userId)).size).toBe(1);
    const fresh = openIdentity();
    for (const { userId, username } of users) {
      const current = await fresh.users.find(userId);
      expect(current?.username).toBe(userId === winners[0]?.userId ? wanted : username);
      expect(await fresh.users.findByUsername(current?.username ?? '')).toEqual(current);
    }
    const former = users.find(({ userId }) => userId === winners[0]?.userId)?.username ?? '';
    expect(await first.users.findByUsername(former)).toBeUndefined();
    expect((await first.users.ensure(newUser({ username: former }))).userId).not.toBe(
      winners[0]?.userId,
    );
  });

  test('a rename that dies between two writes gives no name away', async () => {
    const identity = openIdentity();
    const user = await identity.users.ensure(newUser());
    const name = `other-${randomUUID()}`;
    // It took the new name, or did not delete the former one.
    await openStore().set(`username:${name}`, user.userId);
    expect(await identity.users.findByUsername(name)).toBeUndefined();
    expect(await identity.users.verify(name, 'some password')).toBeUndefined();
    const add = () => identity.users.ensure(newUser({ username: name, name: 'Other' }));
    await expect(add()).rejects.toThrow('already exists');
    expect(await openIdentity().users.find(user.userId)).toEqual(user);
    // The same command again, and back.
    for (const username of [name, user.username]) {
      await identity.users.update(user.userId, (each) => ({ ...each, username }));
    }
    expect((await add()).userId).not.toBe(user.userId);
  });
});
