/** The screens of users, the audit trail, keys and settings: what they show, end and change. */
import { defaultSigningKeyPolicy, rotateMasterKey } from '@gatehouse/identity';
import { hashOfLine, openOperators } from '@gatehouse/operators';
import { until } from '@gatehouse/testing';
import { expect, test } from '@jest/globals';
import { startConsole } from './in-process-console.ts';
import {
  browsing,
  follow,
  hostile,
  installation,
  newVisitor,
  operator,
  own,
  stranger,
  withForm,
} from './installation.ts';

/** A successor signs at once. */
const signingKeyPolicy = { ...defaultSigningKeyPolicy, publishAheadSeconds: 0 };
const gatehouse = await startConsole({ signingKeyPolicy });
const { url, issuer, identity, setAhead } = gatehouse;
const { visitor } = await gatehouse.signIn('/users');

const { open } = browsing(visitor, url);
const idOf = async (username: string) =>
  (await identity.users.findByUsername(username))?.userId ?? '';
const sam = await idOf(stranger.username);
const olga = await idOf(operator.username);

const submit = async (path: string, values = {}, page = open(path)) =>
  visitor.submit(withForm(await page, path), values, own);

test('a list of users finds them by the start of a name, and links to each', async () => {
  const page = await open('/users?search=sa');
  expect(page.body).toContain(`href="/users/${sam}"`);
  expect(page.body).not.toContain(`href="/users/${olga}"`);
  expect((await open('/users?search=zzz')).body).toContain('No user matches.');
});

test('every stored text is escaped on every screen', async () => {
  await identity.settings.apply({ userAttributes: { desk: { type: 'string', scope: 'profile' } } });
  const attributed = { attributes: { desk: hostile }, roles: [hostile] };
  await identity.users.update(sam, (user) => ({ ...user, givenName: hostile, ...attributed }));
  const origin = { actor: 'console', operator: hostile, address: hostile, requestId: hostile };
  const named = { from: hostile, to: [hostile] };
  await identity.audit.write(
    {
      event: 'client_changed',
      clientId: hostile,
      change: 'changed',
      changes: [{ member: hostile, ...named }],
    },
    origin,
  );
  const strange = { event: 'sign_in_failed', method: hostile, reason: hostile, userId: sam };
  await identity.audit.write(strange as never, origin);
  const report = { app: hostile, version: hostile, ready: true, checks: { [hostile]: hostile } };
  const settings = [{ name: hostile, value: hostile, origin: 'variable' }] as const;
  const first = [{ route: hostile, upstream: hostile, requires: hostile, origin: 'file' }] as const;
  const entry = identity.processes.enter();
  await entry.report({
    ...{ ...report, circuits: { [hostile]: hostile }, settings, routes: { count: 1, first } },
    configuration: { loadedAt: 1, problems: [hostile] },
  });
  const screens = ['/users', `/users/${sam}`, `/users/${sam}?tab=audit`, '/audit'];
  const tabs = ['processes', 'routes', 'configuration'].map((tab) => `/settings?tab=${tab}`);
  const acts = [
    'remove',
    'disable',
    'end',
    'reset-link',
    'reset-factors',
    `end-access?client=${encodeURIComponent(hostile)}`,
  ];
  for (const path of [...screens, ...tabs, ...acts.map((name) => `/users/${sam}/${name}`)]) {
    const page = await open(path);
    expect([path, page.status, page.body.includes('<img')]).toEqual([path, 200, false]);
    expect(page.body).toContain('&lt;img');
  }
  await entry.leave();
});

test('one user shows failures with their requests, sessions and applications', async () => {
  const attempt = newVisitor();
  const signIn = await follow(attempt, await attempt.get(`${url}/users`));
  await attempt.submit(signIn, { username: stranger.username, password: 'wrong' });
  const failureAtSignIn = async () => {
    const found = await identity.audit.read({ userId: sam, event: 'sign_in_failed', limit: 5 });
    return found.find(({ actor }) => actor === 'authorization-server');
  };
  await until(async () => (await failureAtSignIn()) !== undefined);
  const requestId = (await failureAtSignIn())?.requestId;
  expect((await open(`/users/${sam}`)).body).toContain(`href="/requests/${requestId}"`);
  const page = await open(`/users/${olga}`);
  expect(page.body).toContain(`href="/clients/${encodeURIComponent('gatehouse:console')}"`);
  expect(page.body).toContain(`/users/${olga}/end-session?session=`);
  expect((await open('/users/nobody')).status).toBe(404);
});

test('a lock is shown, and ends with its act', async () => {
  const key = identity.signInLocks.accountKey(stranger.username);
  await identity.store.increment(key, 900, 10);
  const locked = open(`/users/${sam}`);
  expect((await locked).body).toContain('>Locked</span>');
  const done = await submit(`/users/${sam}/unlock`, {}, locked);
  expect(done.status).toBe(303);
  expect((await open(`/users/${sam}`)).body).toContain('Not locked');
});

test('a reset link is shown once, and sets a password', async () => {
  const asked = await open(`/users/${sam}/reset-link`);
  expect(asked.body).toContain('within an hour');
  const shown = await submit(`/users/${sam}/reset-link`);
  const [, link = ''] = /<code translate="no">(http[^<]*)</.exec(shown.body) ?? [];
  expect(link.startsWith(`${issuer}/reset-password?token=`)).toBe(true);
  expect((await newVisitor().get(link)).body).toContain('name="wanted"');
  expect((await open(`/users/${sam}`)).body).not.toContain('token=');
  expect(gatehouse.log()).not.toContain(link.split('token=')[1]);
});

test('an act names what it ends, and then ends it', async () => {
  const { visitor: tina } = await gatehouse.signIn('/users', {
    username: 'tina',
    password: 'correct horse battery',
  });
  const id = await idOf('tina');
  const factors = await open(`/users/${id}/reset-factors`);
  expect(factors.body).toMatch(/1 factor<.*10 recovery codes<.*1 session</s);
  const all = await open(`/users/${id}/end`);
  expect(all.body).toMatch(/1 session<.*\d+ tokens?<.*1 client</s);
  expect((await submit(`/users/${id}/end`, {}, Promise.resolve(all))).status).toBe(303);
  expect((await identity.userSessions.sessions(id)).length).toBe(0);
  expect((await tina.get(`${url}/users`, own)).status).toBe(303);
  await submit(`/users/${id}/reset-factors`, {}, Promise.resolve(factors));
  expect(await identity.factors.describe(id)).toEqual({
    app: undefined,
    recoveryCodes: 0,
    passkeys: [],
  });
  expect((await submit(`/users/${id}/disable`)).status).toBe(303);
  expect((await identity.users.find(id))?.enabled).toBe(false);
  const refused = await submit(`/users/${id}/reset-link`);
  expect([refused.status, refused.body]).toEqual([
    422,
    expect.stringContaining('Enable the user first.'),
  ]);
  await submit(`/users/${id}/enable`, {}, open(`/users/${id}`));
  expect((await identity.users.find(id))?.enabled).toBe(true);
  const removed = await submit(`/users/${id}/remove`);
  expect([removed.location, await identity.users.find(id)]).toEqual([`${url}/users`, undefined]);
});

test('the audit trail is filtered by its address', async () => {
  const actor = { actor: 'console', operator: olga };
  await openOperators(identity).users.change(actor, sam, { name: 'Sam Stranger' });
  const found = await open(
    `/audit?user=${stranger.username}&event=user_changed&since=2020-01-01T00:00`,
  );
  expect(found.body).toMatch(/<del>.*&lt;img.*<\/del> → <ins>.*Sam Stranger.*<\/ins>/s);
  expect(found.body).toContain(`href="/users/${olga}"`);
  expect((await open('/audit?clientId=none')).body).toContain('No entry matches.');
  expect((await open('/audit?orgId=none')).body).toContain('No entry matches.');
  expect((await open('/audit?until=2020-01-01T00:00')).body).toContain('No entry matches.');
});

test('an export is a chain of lines, without names', async () => {
  const reply = await open(`/audit/export?user=${sam}`);
  expect(reply.headers.get('content-disposition')).toBe('attachment; filename="audit.jsonl"');
  const lines = reply.body.trimEnd().split('\n');
  const entries = lines.map((line) => JSON.parse(line));
  expect(lines.length).toBeGreaterThan(2);
  expect(entries.map(({ previous }) => previous)).toEqual([
    null,
    ...lines.slice(0, -1).map((line) => hashOfLine(line)),
  ]);
  expect(entries.every(({ userId }) => userId === sam)).toBe(true);
  expect(reply.body).not.toContain('Sam Stranger');
  expect((await open('/audit/export?severity=none')).status).toBe(400);
  expect((await newVisitor().get(`${url}/audit/export`, own)).status).toBe(303);
});

test('a rotation replaces the key that signs, after a page with its effect', async () => {
  const path = '/keys/rotate';
  const [before] = await identity.describeSigningKeys('authorization-server', signingKeyPolicy);
  const asked = await open(`${path}?purpose=authorization-server`);
  expect(asked.body).toContain('publishes a successor');
  expect(asked.body).toContain(before?.kid);
  expect((await submit(path, {}, Promise.resolve(asked))).status).toBe(303);
  const [after] = await identity.describeSigningKeys('authorization-server', signingKeyPolicy);
  expect(after?.kid).not.toBe(before?.kid);
  const keys = await open('/keys');
  expect([keys.body.includes(after?.kid ?? '-'), keys.body.includes('Verifies only')]).toEqual([
    true,
    true,
  ]);
  expect((await open(`${path}?purpose=gateway`)).status).toBe(404);
  expect((await open(`${path}?purpose=none`)).status).toBe(400);
});

test('the rotation of the master key is shown with its next step', async () => {
  const rotation = { identity, path: gatehouse.masterKeyFile, wait: async () => undefined };
  const before = await open('/keys');
  expect(before.body).toContain('gatehouse master-key rotate<');
  const { keyId } = await rotateMasterKey(rotation);
  const added = await open('/keys');
  expect(added.body).toContain('The next key only decrypts');
  expect(added.body).toContain(keyId);
});

test('a setting changes after a preview of before and after', async () => {
  const path = '/settings/operators';
  const page = open(path);
  const value = '{"roles":["operations","help-desk"]}';
  const proposed = await submit(`${path}/propose`, { value }, page);
  expect(proposed.body).toMatch(/<del>.*operations.*<\/del> → <ins>.*help-desk.*<\/ins>/s);
  const roles = async () => (await identity.settings.read()).definition.operators?.roles;
  expect(await roles()).toEqual(['operations']);
  setAhead(6);
  const late = await submit(`${path}/change`, { value }, Promise.resolve(proposed));
  expect([late.status, await roles()]).toEqual([403, ['operations']]);
  setAhead(0);
  const done = await submit(`${path}/change`, { value }, Promise.resolve(proposed));
  expect([done.location, await roles()]).toEqual([`${url}/settings`, ['operations', 'help-desk']]);
  const outdated = await submit(`${path}/change`, { value }, Promise.resolve(proposed));
  expect(outdated.status).toBe(422);
});

test('a value that is not valid, or has a secret, changes nothing', async () => {
  const path = '/settings/upstreams';
  const page = open(path);
  for (const [value, problem] of [
    ['{', 'is not JSON'],
    ['[{"id":1}]', 'upstreams.0'],
    ['[{"client\\u0053ecret":"x"}]', 'must not contain a clientSecret'],
  ]) {
    const reply = await submit(`${path}/propose`, { value }, page);
    expect([value, reply.status, reply.body.includes(problem ?? '')]).toEqual([value, 422, true]);
  }
  expect((await open('/settings/nothing')).status).toBe(404);
  expect((await open('/settings/nothing/change?value=&version=x')).status).toBe(404);
});

test('operators let the gateways reload, and see how far each is', async () => {
  const entry = identity.processes.enter();
  const report = { app: 'gateway', version: '1.0.0', ready: true, checks: {}, settings: [] };
  await entry.report({ ...report, app: 'console' });
  expect((await open('/settings?tab=processes')).body).toContain('Only gateways can reload');
  await entry.report({ ...report, configuration: { loadedAt: 1, problems: ['ROUTES_FILE: no'] } });
  const page = await open('/settings?tab=processes');
  expect(page.body).toMatch(/1970.*Not reloaded.*ROUTES_FILE: no/s);
  expect(await entry.isReloadWanted()).toBe(false);
  const done = await submit('/settings/reload', {}, Promise.resolve(page));
  expect(done.location).toBe(`${url}/settings?tab=processes`);
  expect(await entry.isReloadWanted()).toBe(true);
  await entry.leave();
});

test('a support bundle is a file, for operators alone', async () => {
  expect((await open('/settings')).body).toContain('href="/settings/support-bundle" download');
  const reply = await open('/settings/support-bundle');
  expect(reply.headers.get('content-disposition')).toMatch(/^attachment; filename="support-/);
  expect(JSON.parse(reply.body)).toHaveProperty('settings.operators.roles');
  const keys = installation.clients.map(({ secureKey }) => secureKey);
  const masterKey = gatehouse.masterKey.toString('hex');
  for (const secret of [...keys, masterKey, operator.username, operator.password]) {
    expect([secret, reply.body.includes(secret)]).toEqual([secret, false]);
  }
  expect((await newVisitor().get(`${url}/settings/support-bundle`, own)).status).toBe(303);
});
