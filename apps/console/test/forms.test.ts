/** Forms of a session: their tokens, their problems, and what destroys something. */
import { createPageVisitor } from '@gatehouse/testing';
import { expect, test } from '@jest/globals';
import { startConsole } from './in-process-console.ts';
import { browsing, follow, hostile, own, second, signInAt, withForm } from './installation.ts';

const gatehouse = await startConsole({ environment: { SECURITY_PROFILE: 'strict' } });
const { url, issuer, identity, setAhead } = gatehouse;
const { visitor } = await gatehouse.signIn();
const { visitor: other } = await gatehouse.signIn('/organizations', second);

const rename = '/organizations/org-3/rename';
const { open } = browsing(visitor, url);
const nameOf = async (id: string) => (await identity.organizations.find(id))?.name;

test('a form needs the token of its session, and a page of the console', async () => {
  const form = withForm(await open('/organizations/org-3'), rename);
  const foreign = withForm(await other.get(`${url}/organizations/org-3`, own), rename);
  const without = { ...form, body: form.body.replace(/name="form-token" value="[^"]*"/, '') };
  const attempts = [
    await visitor.submit(without, { name: 'Evil' }, own),
    await visitor.submit({ ...foreign }, { name: 'Evil' }, own),
    await visitor.submit(form, { name: 'Evil', 'form-token': '' }, own),
    await visitor.submit(form, { name: 'Evil' }, { ...own, 'sec-fetch-site': 'cross-site' }),
    await visitor.submit(form, { name: 'Evil' }, { ...own, 'sec-fetch-site': 'same-site' }),
    await visitor.submit(form, { name: 'Evil' }, { ...own, 'sec-fetch-site': 'none' }),
  ];
  expect(attempts.map(({ status }) => status)).toEqual([403, 403, 403, 403, 403, 403]);
  expect(await nameOf('org-3')).toBe('Meadow Energy');
  const anonymous = await createPageVisitor().submit(form, { name: 'Evil' }, own);
  expect(anonymous.status).toBe(401);
  expect((await open(rename)).status).toBe(405);
});

test('an act redirects to its screen, which shows a notice once, and is in the audit trail', async () => {
  const form = withForm(await open('/organizations/org-3'), rename);
  const done = await visitor.submit(form, { name: 'Meadow & Sons' }, own);
  expect([done.status, done.location]).toEqual([303, `${url}/organizations/org-3`]);
  const shown = await open('/organizations/org-3');
  expect(shown.body).toContain('<p class="success" role="status">The change is saved.</p>');
  expect(shown.body).toContain('<h1>Meadow &amp; Sons</h1>');
  expect((await open('/organizations/org-3')).body).not.toContain('class="success"');
  await identity.audit.flush();
  const entries = await identity.audit.read({ event: 'organization_changed', limit: 10 });
  expect(entries[0]).toMatchObject({ actor: 'console', organizationId: 'org-3' });
  expect(entries[0]?.operator).toMatch(/^[\da-f]{32}$/);
});

test('a rejected form shows its problems and what was typed', async () => {
  const screen = await open('/organizations');
  const form = withForm(screen, '/organizations/add');
  const rejected = await visitor.submit(
    form,
    { name: '"><script>alert(1)</script>', id: 'not valid!' },
    own,
  );
  expect(rejected.status).toBe(422);
  expect(rejected.body).toContain('value="&quot;&gt;&lt;script&gt;alert(1)&lt;/script&gt;"');
  expect(rejected.body).toMatch(
    /name="id" required aria-invalid="true" aria-describedby="add-id-hint add-id-problem"/,
  );
  const taken = await visitor.submit(form, { name: 'Again', id: 'org-1' }, own);
  expect([taken.status, taken.body]).toEqual([
    422,
    expect.stringContaining('The organization org-1 already exists.'),
  ]);
});

test('a change of a record that another operator changed is rejected', async () => {
  const mine = withForm(await open('/organizations/org-3'), rename);
  const theirs = withForm(await other.get(`${url}/organizations/org-3`, own), rename);
  expect((await other.submit(theirs, { name: 'Theirs' }, own)).status).toBe(303);
  const rejected = await visitor.submit(mine, { name: 'Mine' }, own);
  expect([rejected.status, await nameOf('org-3')]).toEqual([422, 'Theirs']);
});

test('an act that destroys names its effect first, and needs a recent sign-in', async () => {
  const remove = '/organizations/org-2/remove';
  setAhead(6);
  const old = await open(remove);
  expect([old.status, old.body]).toEqual([403, expect.stringContaining('Confirm that it is you')]);
  const form = { ...old, body: old.body.replace('/sign-out', remove) };
  const posted = await visitor.submit(withForm(form, remove), {}, own);
  expect([posted.status, await nameOf('org-2')]).toEqual([403, hostile]);
  setAhead(0);
  const [, link = ''] = /class="button primary" href="([^"]*)"/.exec(old.body) ?? [];
  const address = url + link.replaceAll('&amp;', '&');
  const asked = await follow(visitor, await visitor.get(address));
  expect([asked.url.startsWith(issuer), asked.body]).toEqual([
    true,
    expect.stringContaining('name="password"'),
  ]);
  const confirmation = await signInAt(visitor, address);
  expect([confirmation.status, confirmation.url]).toEqual([200, url + remove]);
  expect(confirmation.body.replace(/<[^>]+>/g, '')).toContain(
    'This removes 1 user and 1 client, and ends their tokens.',
  );
  expect(await nameOf('org-2')).toBe(hostile);
  const done = await visitor.submit(withForm(confirmation, remove), {}, own);
  expect([done.location, await nameOf('org-2')]).toEqual([`${url}/organizations`, undefined]);
});

test('a screen escapes every stored text', async () => {
  await identity.organizations.save({ id: 'org-5', name: hostile });
  for (const path of ['/organizations', '/organizations/org-5', '/organizations/org-5/remove']) {
    const page = await open(path);
    expect([path, page.status, page.body.includes('<img')]).toEqual([path, 200, false]);
    expect(page.body).toContain('&lt;img src=x onerror=alert(1)&gt;&quot;&#39;&amp;');
  }
  const filtered = await open(`/organizations?search=${encodeURIComponent('"><img src=x>')}`);
  expect(filtered.body).toContain('value="&quot;&gt;&lt;img src=x&gt;"');
});

test('every reply has the strict headers, and an unknown address is a page', async () => {
  const page = await open('/nothing');
  expect([page.status, page.body]).toEqual([404, expect.stringContaining('Nothing is here')]);
  const { headers } = await open('/organizations');
  expect(headers.get('content-security-policy')).toBe(
    `default-src 'none';style-src 'self';img-src 'self';script-src 'self';connect-src 'self';form-action 'self' ${issuer};frame-ancestors 'none';base-uri 'none';require-trusted-types-for 'script';trusted-types 'none'`,
  );
  expect(headers.get('cache-control')).toBe('no-store');
  expect(headers.get('cross-origin-opener-policy')).toBe('same-origin');
  expect((await open('/organizations/none')).status).toBe(404);
});
