// requires: redis-server
/** Forgotten passwords, new accounts and verified addresses. mails.slow.test.ts has the mails. */
import type { WantedLink } from '@gatehouse/identity';
import { codeOfApp, createPageVisitor, secretOfPage, until } from '@gatehouse/testing';
import { describe, expect, test } from '@jest/globals';
import { english } from '../src/pages/texts-en.ts';
import {
  closed,
  fromElsewhere,
  outcomeOf,
  password,
  startMailSystems,
  strangerAt,
  wanted,
} from './mail-installation.ts';
import { mailUser } from './mail-server.ts';
import { startServers } from './server.ts';

const systems = await startMailSystems();
const { first: withoutMail } = await startServers();

describe.each(systems)('on $engine', ({ engine, system }) => {
  const { mailsTo } = system.mailServer;
  const { identity } = system;
  const { issuer, get, open, openSignIn } = system.first;
  const { forget, register } = strangerAt(system.first);
  const mine = (name: string) => `${name}-${engine}`;
  const userIdOf = async (username: string) =>
    (await identity.users.findByUsername(username))?.userId ?? '';
  const linkOf = async (path: string, link: WantedLink) =>
    `${issuer}/${path}?token=${await identity.actionLinks.issue(link)}`;
  const accountLink = (link: WantedLink) => linkOf('create-account', link);

  test('the sign-in page leads to a mail with a link that works once, in any browser', async () => {
    const visitor = createPageVisitor();
    const signIn = await openSignIn(visitor);
    const [, path = ''] = /href="(\/forgot-password[^"]*)"/.exec(signIn.body) ?? [];
    const form = await visitor.get(issuer + path);
    const headers = fromElsewhere();
    const reply = await visitor.submit(form, { login: 'DORA' }, headers);
    const sent = await visitor.get(reply.location ?? '');
    expect([reply.status, sent.status]).toEqual([303, 200]);
    expect(sent.body).toContain(`href="${new URL(signIn.url).pathname}"`);
    const mail = (await mailsTo('dora@example.com')).at(-1);
    expect(mail).toMatchObject({ from: 'no-reply@example.com', user: mailUser.name });
    expect(mail?.subject).toBe(`Choose a new password at ${new URL(issuer).host}`);
    for (const form of [mail?.text, mail?.html]) {
      expect(form).toContain('account dora');
      expect(form).toContain(`from ${headers['x-forwarded-for']} (Firefox on Linux) at `);
      expect(form).toMatch(/ at \d{4}-\d\d-\d\d \d\d:\d\d UTC\./);
      expect(form).toContain(`${issuer}/reset-password?token=`);
    }
    const other = createPageVisitor();
    const choose = await other.get(mail?.link ?? '');
    expect((await other.submit(choose, password)).status).toBe(303);
    expect((await get(mail?.link ?? '')).status).toBe(400);
    const account = await open(createPageVisitor(), '/account', {
      username: 'dora',
      password: wanted,
    });
    expect(account.status).toBe(200);
  });

  test('every name and address gets the same reply', async () => {
    const names = ['erin', 'nobody', '', 'alice', 'gone', 'new@example.com', 'x'.repeat(3000)];
    const forgotten: ReturnType<typeof outcomeOf>[] = [];
    for (const login of names) {
      forgotten.push(outcomeOf(await forget(login)));
    }
    expect(forgotten).toEqual(names.map(() => [303, ...(forgotten[0]?.slice(1) ?? [])]));
    const registered = [];
    for (const email of ['carol@example.com', 'CAROL@example.com', 'nobody@example.com']) {
      registered.push(outcomeOf(await register(email)));
    }
    expect(new Set(registered.map(String)).size).toBe(1);
    const elsewhere = await register('someone@elsewhere.example');
    expect([elsewhere.status, elsewhere.body]).toEqual([
      422,
      expect.stringContaining('example.com.'),
    ]);
    expect((await register('no address')).status).toBe(422);
  });

  test('another site cannot ask for a mail', async () => {
    const form = await get(`${issuer}/forgot-password`);
    const crossSite = fromElsewhere({ 'sec-fetch-site': 'cross-site' });
    const foreign = await createPageVisitor().submit(form, { login: 'carol' }, crossSite);
    expect(foreign.status).toBe(403);
    const elsewhere = await get(`${issuer}/forgot-password/sent?interaction=//evil.example`);
    expect(elsewhere.body).not.toMatch(/href="[^"]*evil/);
  });

  test('a link of a registration creates one account', async () => {
    const email = `${mine('anna')}@example.com`;
    const link = await accountLink({ kind: 'register', orgId: 'org-1', email });
    const visitor = createPageVisitor();
    const form = await visitor.get(link);
    expect([form.status, form.body]).toEqual([200, expect.stringContaining(email)]);
    const username = mine('anna');
    for (const [fields, problem] of [
      [{ name: ' ' }, english.accountProblems.name],
      [{ username: 'carol@example.com' }, english.accountProblems.username],
      [{ username: 'carol＠example.com' }, english.accountProblems.username],
      [{ username: 'Bob' }, english.accountProblems.taken],
      [{ wanted: 'short', repeated: 'short' }, english.passwordProblems.short],
      [{ repeated: 'another password' }, english.passwordProblems.differs],
    ] as const) {
      const again = await visitor.submit(form, { username, name: 'Anna', ...password, ...fields });
      expect([again.status, again.body]).toEqual([422, expect.stringContaining(problem)]);
    }
    const replies = await Promise.all(
      Array.from({ length: 10 }, (_, i) =>
        createPageVisitor().submit(form, {
          username: `${username}-${i}`,
          name: 'Anna',
          ...password,
        }),
      ),
    );
    expect(replies.map(({ status }) => status).sort()).toEqual([303, ...Array(9).fill(400)]);
    const user = await identity.users.findByEmail(email.toUpperCase());
    expect(user).toMatchObject({ orgId: 'org-1', name: 'Anna', emailVerified: true, roles: [] });
    const account = await open(createPageVisitor(), '/account', {
      username: email,
      password: wanted,
    });
    expect(account.body).toContain('Anna');
    expect((await get(link)).status).toBe(400);
  });

  test('two links for one address create one account', async () => {
    const email = `${mine('twice')}@example.com`;
    const link = { kind: 'invite', orgId: 'org-1', email } as const;
    const forms = await Promise.all(
      Array.from({ length: 6 }, async () => {
        return get(await accountLink(link));
      }),
    );
    const replies = await Promise.all(
      forms.map((form, i) =>
        createPageVisitor().submit(form, {
          username: `${mine('twice')}${i}`,
          name: 'T',
          ...password,
        }),
      ),
    );
    expect(replies.map(({ status }) => status).sort()).toEqual([303, ...Array(5).fill(400)]);
  });

  test('two people who choose one username at once do not share it', async () => {
    const forms = await Promise.all(
      Array.from({ length: 5 }, async (_, i) => {
        const email = `${mine('same')}${i}@example.com`;
        return get(await accountLink({ kind: 'invite', orgId: 'org-1', email }));
      }),
    );
    const fields = { username: mine('same'), name: 'Same', ...password };
    const replies = await Promise.all(
      forms.map((form) => createPageVisitor().submit(form, fields)),
    );
    expect(replies.map(({ status }) => status).sort()).toEqual([303, ...Array(4).fill(422)]);
    const [loser] = replies.filter(({ status }) => status === 422);
    const different = { ...fields, username: mine('different') };
    const again = await createPageVisitor().submit(loser ?? { url: '', body: '' }, different);
    expect(again.status).toBe(303);
  });

  test('a closed organization has invitations, but no registration', async () => {
    const visitor = createPageVisitor();
    const parameters = { client_id: closed.clientId, redirect_uri: closed.redirectUri };
    const signIn = await openSignIn(visitor, { ...parameters, scope: 'openid' });
    expect(signIn.body).toContain(english.forgotPassword);
    expect(signIn.body).not.toContain(english.createAccount);
    expect((await visitor.get(`${signIn.url}/create-account`)).status).toBe(404);
    const email = `${mine('invited')}@elsewhere.example`;
    const invited = await visitor.get(await accountLink({ kind: 'invite', orgId: 'org-2', email }));
    const fields = { username: mine('invited'), name: 'Invited', ...password };
    expect((await visitor.submit(invited, fields)).status).toBe(303);
    expect((await identity.users.findByEmail(email))?.orgId).toBe('org-2');
  });

  test('one link tests a limited number of usernames', async () => {
    const email = `${mine('guesser')}@example.com`;
    const link = await accountLink({
      kind: 'invite',
      orgId: 'org-1',
      email,
    });
    const visitor = createPageVisitor();
    const form = await visitor.get(link);
    const statuses = [];
    for (let i = 0; i < 21; i += 1) {
      const fields = { username: 'alice', name: 'G', ...password };
      statuses.push((await visitor.submit(form, fields)).status);
    }
    expect(statuses).toEqual([...Array(20).fill(422), 429]);
  });

  test('a link verifies the new address of a user once', async () => {
    const [userId, other] = [await userIdOf('erin'), await userIdOf('olga')];
    const email = `${mine('erin')}@elsewhere.example`;
    const form = await get(await linkOf('verify-email', { kind: 'verify', userId, email }));
    const taken = await get(await linkOf('verify-email', { kind: 'verify', userId: other, email }));
    expect([form.status, form.body]).toEqual([200, expect.stringContaining(email)]);
    expect(form.body).toContain('erin');
    expect((await identity.users.findByEmail('erin@example.com'))?.userId).toBe(userId);
    const replies = await Promise.all(
      Array.from({ length: 10 }, () => createPageVisitor().submit(form, {})),
    );
    expect(replies.map(({ status }) => status).sort()).toEqual([303, ...Array(9).fill(400)]);
    await until(async () => (await identity.users.findByEmail(email))?.userId === userId);
    expect(await identity.users.findByEmail('erin@example.com')).toBeUndefined();
    // The address of another user stays with that user.
    expect(taken.status).toBe(200);
    expect((await createPageVisitor().submit(taken, {})).status).toBe(400);
  });

  test('a user gets a mail about each change, at the address before it', async () => {
    const visitor = createPageVisitor();
    const headers = fromElsewhere();
    const former = 'fred@example.com';
    const email = `${mine('fred')}@example.com`;
    const userId = await userIdOf('fred');
    const reset = await identity.actionLinks.issue({ kind: 'reset', userId });
    const form = await visitor.get(`${issuer}/reset-password?token=${reset}`);
    expect((await visitor.submit(form, password, headers)).status).toBe(303);
    const told = (await mailsTo(former)).at(-1);
    expect(told?.subject).toBe(`Your account at ${new URL(issuer).host} was changed`);
    expect(told?.text).toContain(`your account fred at ${new URL(issuer).host}: Password.`);
    expect(told?.text).toContain(`from ${headers['x-forwarded-for']} (Firefox on Linux) at `);
    expect(told?.text).toContain(english.mailNotYou);
    expect(told?.link).toBe(`${issuer}/account`);

    const verify = await identity.actionLinks.issue({ kind: 'verify', userId, email });
    await visitor.submit(await visitor.get(`${issuer}/verify-email?token=${verify}`), {});
    expect((await mailsTo(former, 2)).at(-1)?.text).toContain(': Email.');
    const off = { organizations: {}, roles: {}, clients: {} };
    await identity.settings.apply({ secondFactor: { ...off, default: 'optional' } });
    const user = { username: 'fred', password: wanted };
    await open(visitor, '/account', user);
    const page = () => visitor.get(`${issuer}/account/second-factor`);
    await until(async () => (await page()).status === 200);
    const enrollment = await page();
    await visitor.submit(enrollment, { code: codeOfApp(secretOfPage(enrollment)) });
    expect((await mailsTo(email)).at(-1)?.text).toContain(': Two-step sign-in.');
    await identity.settings.apply({ secondFactor: off });
  });

  test('a link for a former address or password is void', async () => {
    const userId = await userIdOf('fred');
    const verify = { kind: 'verify', userId, email: 'f2@example.com' } as const;
    const links = [
      await linkOf('reset-password', { kind: 'reset', userId }),
      await linkOf('verify-email', verify),
    ];
    await identity.users.update(userId, (each) => ({ ...each, email: 'f3@example.com' }));
    for (const link of links) {
      expect((await get(link)).status).toBe(400);
    }
  });
});

test('without a mail server, nothing offers a mail', async () => {
  const page = await withoutMail.openSignIn(createPageVisitor());
  expect([page.status, page.body]).toEqual([200, expect.not.stringContaining('forgot-password')]);
  expect((await withoutMail.get('/forgot-password')).status).toBe(404);
  expect((await withoutMail.get(`${page.url}/create-account`)).status).toBe(404);
});
