// requires: redis-server
/** Which mails people get, how many, in which language, and when the mail server was down. */
import type { WantedMail } from '@gatehouse/identity';
import { createPageVisitor } from '@gatehouse/testing';
import { describe, expect, test } from '@jest/globals';
import { chinese } from '../src/pages/texts-zh.ts';
import { alice } from './installation.ts';
import { fromElsewhere, outcomeOf, startMailSystems, strangerAt } from './mail-installation.ts';

const systems = await startMailSystems();

describe.each(systems)('on $engine', ({ engine, system }) => {
  const { mailServer } = system;
  const { mailsTo } = mailServer;
  const { identity } = system;
  const { issuer } = system.first;
  const { forget, register } = strangerAt(system.first);
  const mine = (name: string) => `${name}-${engine}`;
  const asked = { at: Date.now() };
  const countOf = (address: string) =>
    mailServer.mails.filter(({ to }) => to.includes(address)).length;
  /** Everything that was asked for in the same queue before has been handled when it arrives. */
  async function ask(queue: string, mail: Extract<WantedMail, { readonly email: string }>) {
    await identity.mails.add(queue, mail);
    return (await mailsTo(mail.email)).at(-1);
  }

  test('a reply does not tell whether a mail follows, and only a verified address gets one', async () => {
    const before = mailServer.mails.length;
    const names = [
      'erin',
      'nobody',
      '',
      alice.username,
      'gone',
      'new',
      'new@example.com',
      'x'.repeat(3000),
    ];
    const outcomes = [];
    for (const login of names) {
      outcomes.push(outcomeOf(await forget(login)));
    }
    expect(new Set(outcomes.map(String)).size).toBe(1);
    await forget('Carol@Example.com');
    await mailsTo(`carol@example.com`);
    const received = mailServer.mails.slice(before).flatMap(({ to }) => to);
    expect(received).toEqual(['erin@example.com', 'carol@example.com']);
  });

  test('an address group asks for a limited number of mails', async () => {
    const headers = fromElsewhere();
    const replies = [];
    for (let i = 0; i < 21; i += 1) {
      replies.push((await forget(`nobody-${i}`, headers)).status);
    }
    expect(replies).toEqual([...Array(20).fill(303), 429]);
    const limited = await register('x@example.com', headers);
    expect([limited.status, limited.headers.get('retry-after')]).toEqual([
      429,
      expect.stringMatching(/^\d+$/),
    ]);
    expect((await forget('nobody')).status).toBe(303);
  });

  test('a mail is in the language of the user, or else of the browser', async () => {
    const read = async (email: string, more: object) =>
      ask('org-1', { kind: 'register', orgId: 'org-1', email, ...asked, ...more });
    const own = await read(`${mine('zh')}@example.com`, { locale: 'zh-CN' });
    expect(own?.text).toContain(chinese.mailIgnore);
    expect(own?.subject).toBe(`在 ${new URL(issuer).host} 创建您的账号`);
    const user = await identity.users.findByUsername('carol');
    await identity.users.update(user?.userId ?? '', (each) => ({ ...each, locale: 'zh-CN' }));
    const email = `${mine('c')}@example.com`;
    const verify = { kind: 'verify', userId: user?.userId ?? '', email, locale: 'en' } as const;
    expect((await ask('org-1', { ...verify, ...asked }))?.html).toContain(
      chinese.mails.verify.label,
    );
  });

  test('a registration tells only the mailbox whether there is an account', async () => {
    const count = countOf('carol@example.com');
    const email = `${mine('nobody')}@example.com`;
    expect(outcomeOf(await register('carol@example.com'))).toEqual(
      outcomeOf(await register(email)),
    );
    const [unknown] = await mailsTo(email);
    const known = (await mailsTo('carol@example.com', count + 1)).at(-1);
    expect(known?.text).toMatch(/已经有一个账号：carol|already have one: carol/);
    expect(known?.link).toBe(`${issuer}/account`);
    expect(unknown?.text).toContain('in the organization Example');
    expect(unknown?.link).toContain(`${issuer}/create-account?token=`);
  });

  test('no link, address or name as entered is readable in the store or the log', async () => {
    const secret = mine('a password in the wrong field');
    await forget(secret);
    // Handled after it.
    const email = 'dora@example.com';
    const before = countOf(email);
    await forget(email);
    await mailsTo(email, before + 1);
    const links = mailServer.mails.map(({ link }) => new URL(link).searchParams.get('token') ?? '');
    const tokens = links.filter((token) => token.length > 20);
    const texts = [...(await system.storedText()), await system.output()].join();
    expect(tokens.length).toBeGreaterThan(3);
    for (const text of [secret, ...tokens]) {
      expect(texts.includes(text)).toBe(false);
    }
  });

  test('a mail server that is down loses no mail', async () => {
    const before = countOf('dora@example.com');
    await mailServer.stop();
    await forget('dora');
    await system.outputWith(/ECONNREFUSED.*the mail server did not accept a mail/);
    await mailServer.start();
    const mail = (await mailsTo('dora@example.com', before + 1)).at(-1);
    expect((await createPageVisitor().get(mail?.link ?? '')).status).toBe(200);
  });
});
