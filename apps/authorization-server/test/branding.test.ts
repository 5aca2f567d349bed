/** How the pages look as the operator declares it, for the installation and for an organization. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createPageVisitor, until, type VisitedPage } from '@gatehouse/testing';
import { temporaryFolder } from '@gatehouse/testing/suite';
import { expect, test } from '@jest/globals';
import { alice, installation, olga, screen } from './installation.ts';
import { failToSignIn, startServers } from './server.ts';

const folder = temporaryFolder();
const write = (name: string, content: string | Buffer) => {
  writeFileSync(join(folder, name), content);
  return join(folder, name);
};
const svg =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><script>alert(1)</script></svg>';
const branding = {
  name: 'Meadow & Sons',
  logo: write('logo.svg', svg),
  colors: { light: { accent: '#7a1fa2' }, dark: { accent: '#d7a6f0', ground: '#000000' } },
  links: { help: 'https://example.com/help', privacy: 'https://example.com/privacy?a=1&b=2' },
  contact: 'help@example.com',
  organizations: {
    'org-2': {
      name: 'Another',
      favicon: write('icon.png', Buffer.from('\x89PNG\r\n\x1a\nicon', 'latin1')),
      contact: '<b>Room 1</b>',
    },
  },
};
const { first, identity } = await startServers({
  bootstrap: { ...installation, branding } as typeof installation,
});
const { get, open, openSignIn, startDevice, confirmDevice } = first;
const fileIn = ({ body }: VisitedPage, pattern: RegExp) => pattern.exec(body)?.[1] ?? '';
const LOGO = /<img class="logo" src="([^"]*)"/;
const STYLES = /<link rel="stylesheet" href="(\/assets\/brand\/[^"]*)"/;

test('every page has the name, logo, colors, links and contact of the installation', async () => {
  for (const page of [
    await get('/'),
    await get('/nothing'),
    await openSignIn(createPageVisitor()),
  ]) {
    expect(page.body).toContain(' · Meadow &amp; Sons</title>');
    expect(page.body).toMatch(
      /<p class="brand"><img class="logo" src="\/assets\/brand\/[\w-]{43}" alt="Meadow &amp; Sons"><\/p>/,
    );
    expect(page.body).toContain('<a href="https://example.com/privacy?a=1&amp;b=2">Privacy</a>');
    expect(page.body).not.toContain('>Terms</a>');
    expect(page.body).not.toContain('Gatehouse');
    const { headers, body } = await get(fileIn(page, STYLES));
    expect(headers.get('content-type')).toBe('text/css; charset=utf-8');
    expect(body).toContain(':root{--accent:#7a1fa2;');
    expect(body).toContain('--ground:#000000;');
  }
  const contact = '<a href="mailto:help@example.com" translate="no">help@example.com</a>';
  expect((await get('/nothing')).body).toContain(`If you need help, contact ${contact}.`);
});

test('an image is a file that a browser keeps, and that runs no script', async () => {
  const { status, headers, body } = await get(fileIn(await get('/'), LOGO));
  expect([status, body]).toEqual([200, svg]);
  expect(headers.get('content-type')).toBe('image/svg+xml');
  expect(headers.get('x-content-type-options')).toBe('nosniff');
  expect(headers.get('cross-origin-resource-policy')).toBe('same-origin');
  expect(headers.get('content-security-policy')).toBe(
    "default-src 'none';style-src 'unsafe-inline';sandbox",
  );
  expect(headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
  for (const other of ['x', 'A'.repeat(43), '%2e%2e']) {
    expect((await get(`/assets/brand/${other}`)).status).toBe(404);
  }
});

test('a failed sign-in names the contact, alike for known and unknown names', async () => {
  const visitor = createPageVisitor();
  const page = await openSignIn(visitor);
  const problems = [];
  for (const username of [alice.username, 'nobody']) {
    const failed = await failToSignIn(visitor, page, { username, password: 'wrong password' });
    problems.push(/<p class="problem".*<\/p>/.exec(failed.body)?.[0]);
  }
  expect(problems[0]).toContain('mailto:help@example.com');
  expect(problems[1]).toBe(problems[0]);
});

test('a page of an organization has its brand: of the client at a sign-in, of the user at the account', async () => {
  const device = await startDevice({ client_id: screen.clientId });
  const visitor = createPageVisitor();
  const question = await confirmDevice(device, visitor);
  const signIn = await visitor.get(question.location ?? '');
  const account = await open(createPageVisitor(), '/account', olga);
  expect(signIn.url).toContain('/sign-in/');
  for (const page of [account, signIn]) {
    expect(page.body).toContain(' · Another</title>');
    expect(page.body).toContain('>Help</a>');
    const { headers } = await get(
      fileIn(page, /<link rel="icon" type="image\/png" href="([^"]*)"/),
    );
    expect(headers.get('content-type')).toBe('image/png');
  }
  expect((await open(createPageVisitor(), '/account', alice)).body).toContain('Meadow &amp; Sons');
});

test('a change applies within a second, and the former image no longer exists', async () => {
  const former = fileIn(await get('/'), LOGO);
  await identity.settings.apply({ branding: { name: 'New', organizations: {} } });
  await until(async () =>
    (await get('/')).body.includes('<title>One account for your devices · New<'),
  );
  expect((await get(former)).status).toBe(404);
  expect(await identity.settings.readImage(former.slice(-43))).toBeUndefined();
  expect((await get('/')).body).toContain('<p class="brand"><span translate="no">New</span></p>');
});
