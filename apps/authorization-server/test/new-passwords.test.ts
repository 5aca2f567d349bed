/** New passwords by a link and at the next sign-in, and sign-in with an email address. */
import { createPageVisitor } from '@gatehouse/testing';
import { describe, expect, test } from '@jest/globals';
import { bob, carol } from './installation.ts';
import { startOnEngines } from './server.ts';

const wanted = 'seven tall lanterns';

describe.each(await startOnEngines())('on $engine', ({ system }) => {
  const { identity } = system;
  const { issuer, get, open, openSignIn } = system.first;

  const resetLink = async (username: string) => {
    const { userId = '' } = (await identity.users.findByUsername(username)) ?? {};
    const token = await identity.actionLinks.issue({ kind: 'reset', userId });
    return `${issuer}/reset-password?token=${token}`;
  };
  const choose = { wanted, repeated: wanted };

  test('a reset link works once, unlocks the account and ends its sessions', async () => {
    const browser = createPageVisitor();
    await open(browser, '/account', bob);
    const link = await resetLink('bob');
    const visitor = createPageVisitor();
    const form = await visitor.get(link);
    expect([form.status, (await visitor.get(link)).status]).toEqual([200, 200]);
    for (const fields of [
      { wanted: 'short', repeated: 'short' },
      { wanted, repeated: 'x' },
    ]) {
      expect((await visitor.submit(form, fields)).status).toBe(422);
    }
    const replies = await Promise.all(
      Array.from({ length: 10 }, () => createPageVisitor().submit(form, choose)),
    );
    expect(replies.filter(({ status }) => status === 303)).toHaveLength(1);
    expect(replies.filter(({ status }) => status === 400)).toHaveLength(9);
    const used = await visitor.get(link);
    expect([used.status, used.body]).toEqual([400, expect.stringContaining('already used')]);
    expect((await browser.get(`${issuer}/account`)).status).toBe(303);
    const account = await open(createPageVisitor(), '/account', { ...bob, password: wanted });
    expect(account.status).toBe(200);
  });

  test('a reset link is bound to the password, and its replies do not tell why it is invalid', async () => {
    const [first, second] = [await resetLink('alice'), await resetLink('alice')];
    const visitor = createPageVisitor();
    expect((await visitor.submit(await visitor.get(first), choose)).status).toBe(303);
    const invalid = [second, first, `${issuer}/reset-password?token=x`, `${issuer}/reset-password`];
    const bodies = await Promise.all(
      invalid.map(async (link) => {
        const { status, body } = await get(link);
        const own = /reference: [\w-]+| value="\/reset-password[^"]*"/g;
        return [status, body.replace(own, '')];
      }),
    );
    expect(new Set(bodies.map(String)).size).toBe(1);
    expect(bodies[0]?.[0]).toBe(400);
  });

  test('a user who must change the password does so before the sign-in ends', async () => {
    const user = await identity.users.findByUsername('carol');
    await identity.users.update(user?.userId ?? '', (each) => ({
      ...each,
      mustChangePassword: true,
    }));
    const visitor = createPageVisitor();
    const form = await openSignIn(visitor);
    const { location = '' } = await visitor.submit(form, carol);
    expect(location).toMatch(/\/sign-in\/[^/]+\/new-password$/);
    // Without the proof, the page starts again.
    expect((await get(location)).status).toBe(400);
    const step = await visitor.get(location);
    const refused = await visitor.submit(step, {
      wanted: carol.password,
      repeated: carol.password,
    });
    expect([refused.status, refused.body]).toEqual([
      422,
      expect.stringContaining('the one you have now'),
    ]);
    const done = await visitor.submit(refused, choose);
    expect([done.status, done.location]).toEqual([303, expect.stringContaining('/authorize/')]);
    const again = await visitor.submit(step, choose);
    expect([again.status, again.location]).toEqual([303, location.replace('/new-password', '')]);
    const account = await open(createPageVisitor(), '/account', { ...carol, password: wanted });
    expect(account.status).toBe(200);
  });

  test('a verified address signs in, without regard to case', async () => {
    const user = await identity.users.findByUsername('alice');
    const email = 'Alice@Example.com';
    const update = (change: object) =>
      identity.users.update(user?.userId ?? '', (each) => ({ ...each, ...change }));
    await update({ email, emailVerified: false, passwordHash: undefined });
    expect(await identity.users.findByLogin(email)).toBeUndefined();
    const { passwordHash } = (await identity.users.findByUsername('bob')) ?? {};
    await update({ emailVerified: true, passwordHash });
    const account = await open(createPageVisitor(), '/account', {
      username: 'ALICE@example.com',
      password: wanted,
    });
    expect([account.url, account.status]).toEqual([`${issuer}/account`, 200]);
    // The address of another user stays with that user.
    const other = await identity.users.findByUsername('bob');
    await identity.users.update(other?.userId ?? '', (each) => ({
      ...each,
      email,
      emailVerified: true,
    }));
    expect((await identity.users.findByEmail(email))?.username).toBe('alice');
    await update({ email: 'new@example.com' });
    expect(await identity.users.findByEmail(email)).toBeUndefined();
  });
});
