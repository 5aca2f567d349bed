// requires: openssl
/** How mails reach a mail server: only over TLS with a valid certificate, except on this machine. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { freePort, makeCertificate } from '@gatehouse/testing';
import { afterAll, expect, test } from '@jest/globals';
import { loadConfiguration } from '../src/config.ts';
import { createMailer, mailAddress, smtpUrl } from '../src/mail/mailer.ts';
import { mailUser, startMailServer } from './mail-server.ts';

// `0.0.0.0` reaches this machine, but is not a loopback address.
const elsewhere = '0.0.0.0';
const directories: string[] = [];
const certificateFor = (...names: readonly string[]) => {
  const directory = mkdtempSync(join(tmpdir(), 'gatehouse-mailer-'));
  directories.push(directory);
  return makeCertificate(directory, names);
};
const certificate = certificateFor(elsewhere);
setDefaultCACertificates([...getCACertificates('default'), certificate.authority]);
const started: { readonly stop: () => Promise<void> }[] = [];
afterAll(async () => {
  await Promise.all(started.map(({ stop }) => stop()));
  for (const directory of directories) {
    rmSync(directory, { recursive: true, force: true });
  }
});

async function start(options: Parameters<typeof startMailServer>[0]) {
  const server = await startMailServer({ host: elsewhere, ...options });
  started.push(server);
  return server;
}
const from = mailAddress.parse('Example <no-reply@example.com>');
const mail = { to: 'alice@example.com', subject: 'Subject', text: 'text', html: '<p>html</p>' };
const sendTo = (url: string) => createMailer({ url, from })(mail);
const asUser = (url: string, password: string = mailUser.password) =>
  url.replace('//', `//${mailUser.name}:${encodeURIComponent(password)}@`);

test('a mail goes over STARTTLS or TLS, with the password of the address', async () => {
  const server = await start({ certificate });
  expect(await sendTo(asUser(server.url))).toEqual({ result: 'sent' });
  const encrypted = await start({ certificate, secure: true });
  const url = asUser(encrypted.url).replace('smtp:', 'smtps:');
  expect(await sendTo(url)).toEqual({ result: 'sent' });
  for (const { mails } of [server, encrypted]) {
    expect(mails).toEqual([
      expect.objectContaining({
        ...{ from: 'no-reply@example.com', to: ['alice@example.com'], user: mailUser.name },
        ...{ isEncrypted: true, text: 'text', html: '<p>html</p>', subject: 'Subject' },
        source: expect.stringContaining('Auto-Submitted: auto-generated'),
      }),
    ]);
  }
});

test.each([
  ['unknown', () => certificateFor(elsewhere)],
  ['for another host', () => certificateFor('mail.example')],
])('a certificate that is %s ends the attempt, also on this machine', async (_, make) => {
  const host = '127.0.0.1';
  for (const options of [{ secure: true }, {}, { host }]) {
    const server = await start({ certificate: make(), ...options });
    const url = 'secure' in options ? server.url.replace('smtp:', 'smtps:') : server.url;
    expect(await sendTo(asUser(url))).toMatchObject({ result: 'failed' });
    expect(server.mails).toEqual([]);
  }
});

test('another machine must offer STARTTLS', async () => {
  const server = await start({});
  expect(await sendTo(asUser(server.url))).toMatchObject({ result: 'failed' });
  const local = await start({ host: '127.0.0.1' });
  expect(await sendTo(local.url)).toEqual({ result: 'sent' });
  expect([server.mails, local.mails.length]).toEqual([[], 1]);
});

test('a mail that the server rejects for good is not sent again', async () => {
  const replying = (responseCode: number) =>
    start({
      host: '127.0.0.1',
      onRcptTo: (_address, _session, callback) =>
        callback(Object.assign(new Error('no'), { responseCode })),
    });
  const [unknown, later] = [await replying(550), await replying(450)];
  expect(await sendTo(unknown.url)).toMatchObject({ result: 'rejected' });
  expect(await sendTo(later.url)).toMatchObject({ result: 'failed' });
  const local = await start({ host: '127.0.0.1' });
  expect(await sendTo(asUser(local.url, 'wrong'))).toMatchObject({ result: 'failed' });
  const nowhere = `smtp://127.0.0.1:${await freePort()}`;
  expect(await sendTo(nowhere)).toMatchObject({ result: 'failed' });
});

test('an address cannot add recipients or headers', async () => {
  const server = await start({ host: '127.0.0.1' });
  const send = createMailer({ url: server.url, from });
  for (const to of ['a@example.com, b@example.com', 'a@example.com\r\nBcc: b@example.com']) {
    expect(await send({ ...mail, to })).toMatchObject({ result: 'rejected' });
  }
  await send({ ...mail, subject: 'one\r\nBcc: b@example.com' });
  const recipients = server.mails.flatMap(({ to }) => to);
  expect(recipients).not.toContain('b@example.com');
  expect(server.mails.map(({ source }) => source).join()).not.toMatch(/^Bcc:/m);
});

test.each([
  'mail.example.com',
  'http://mail.example.com',
  'smtp://',
  'smtp://mail.example.com/path',
  // The library would switch off the check of certificates.
  'smtps://mail.example.com?tls.rejectUnauthorized=false',
  'smtp://mail.example.com?requireTLS=false',
])('SMTP_URL is not %s', (url) => {
  expect(smtpUrl.safeParse(url).success).toBe(false);
});

test('a server with SMTP_URL and without MAIL_FROM does not start', () => {
  const DATA_DIR = mkdtempSync(join(tmpdir(), 'gatehouse-mailer-'));
  directories.push(DATA_DIR);
  const environment = { DATA_DIR, SMTP_URL: 'smtps://user:secret@mail.example.com' };
  expect(() => loadConfiguration(environment)).toThrow(/MAIL_FROM[\s\S]*is required with SMTP_URL/);
  const { mail } = loadConfiguration({ ...environment, MAIL_FROM: 'a@example.com' });
  expect(mail).toMatchObject({ url: environment.SMTP_URL, from: { address: 'a@example.com' } });
});

test.each([
  ['no-reply@example.com', { name: '', address: 'no-reply@example.com' }],
  ['Die Firma, Inc. <a@example.com>', { name: 'Die Firma, Inc.', address: 'a@example.com' }],
  ['a@example.com, b@example.com', undefined],
  ['Example <a@example.com> <b@example.com>', undefined],
  ['Example\n<a@example.com>', undefined],
  ['', undefined],
])('MAIL_FROM %j is %j', (text, address) => {
  expect(mailAddress.safeParse(text).data).toEqual(address);
});
