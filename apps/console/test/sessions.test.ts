/** How the sessions of operators begin, continue and end. */
import { randomBytes } from 'node:crypto';
import { StoreFullError, StoreUnavailableError } from '@gatehouse/store';
import { createPageVisitor, type VisitedPage } from '@gatehouse/testing';
import { expect, test } from '@jest/globals';
import express from 'express';
import supertest from 'supertest';
import { createCookies } from '../src/session/cookies.ts';
import { startConsole } from './in-process-console.ts';
import { follow, own, reader, signInAt, stranger } from './installation.ts';

let isStoreDown = false;
let isStoreFull = false;
const gatehouse = await startConsole({
  async aroundStore(run, operation) {
    if (isStoreDown) {
      throw new StoreUnavailableError('get', 'test');
    }
    if (isStoreFull && ['set', 'replace', 'claim'].includes(operation)) {
      throw new StoreFullError(operation, 'test');
    }
    return run();
  },
});
const { url, issuer, identity, setAhead } = gatehouse;
const place = `${url}/organizations`;
const { visitor, page } = await gatehouse.signIn();

const asScript = { 'sec-fetch-dest': 'empty', 'sec-fetch-site': 'same-origin' };

const cookieOf = (given: VisitedPage, name: string) =>
  given.headers.getSetCookie().find((line) => line.startsWith(`${name}=`)) ?? '';
const isSignIn = ({ status, location = '' }: VisitedPage) =>
  status === 303 && location.startsWith(`${issuer}/authorize?`);
/** The authorization server still knows the user. */
const renew = async () => follow(visitor, await visitor.get(place));

test('the cookies keep the session from other sites, and the tokens from the browser', async () => {
  expect([page.status, page.url]).toEqual([200, place]);
  const anonymous = createPageVisitor();
  const begun = await anonymous.get(place);
  expect(cookieOf(begun, 'console-sign-in')).toMatch(/; Max-Age=600; .*HttpOnly; SameSite=Lax$/);
  // The browser shows the address of a pushed request only.
  expect([...new URL(begun.location ?? '').searchParams.keys()].sort()).toEqual([
    'client_id',
    'request_uri',
  ]);
  const session = visitor.cookies.get('console-session|/') ?? '';
  expect(session).toMatch(/^[\w-]{43}$/);
  const key = `console-session:${identity.credentialHash(session)}`;
  expect(await identity.store.get(key)).toMatch(/^v1\.[\w-]+$/);
  expect(await gatehouse.storedText()).not.toContain(session);
});

test('a new session cookie is strict, and its page continues by itself', async () => {
  const fresh = await visitor.get(`${url}/sign-in?next=/organizations?search=o`);
  let back = await visitor.get(fresh.location ?? '');
  back = await visitor.get(back.location ?? '');
  expect(cookieOf(back, 'console-session')).toMatch(/; HttpOnly; SameSite=Strict$/);
  expect(back.body).toContain('content="0;url=/organizations?search=o"');
  // The callback works once, and only in the browser that began.
  const replayed = await visitor.get(back.url);
  expect([replayed.status, replayed.body]).toEqual([
    400,
    expect.stringContaining('The sign-in did not finish'),
  ]);
});

test('an address of another site is not opened after a sign-in', async () => {
  for (const next of [
    'https://evil.example/',
    '//evil.example',
    '/\\evil.example',
    'javascript:1',
  ]) {
    const begun = await visitor.get(`${url}/sign-in?next=${encodeURIComponent(next)}`);
    const back = await visitor.get((await visitor.get(begun.location ?? '')).location ?? '');
    expect(back.body).toContain('content="0;url=/"');
  }
});

test('a link from another site is opened again, so that the browser sends its session', async () => {
  const other = createPageVisitor();
  const linked = await other.get(`${place}?search=x`, {
    ...own,
    'sec-fetch-site': 'cross-site',
  });
  expect(linked.status).toBe(200);
  expect(linked.body).toContain('content="0;url=/organizations?search=x"');
  expect(isSignIn(await other.get(place, own))).toBe(true);
});

test('a session ends 15 minutes after its last use, which a script is not', async () => {
  setAhead(14);
  expect((await visitor.get(place, own)).status).toBe(200);
  setAhead(28);
  expect((await visitor.get(place, asScript)).status).toBe(200);
  setAhead(29.5);
  expect((await visitor.get(place, asScript)).status).toBe(401);
  expect(isSignIn(await visitor.get(place, own))).toBe(true);
  setAhead(0);
  await renew();
});

test('an expired access token is refreshed once for concurrent requests', async () => {
  const key = `console-session:${identity.credentialHash(visitor.cookies.get('console-session|/') ?? '')}`;
  const before = await identity.store.get(key);
  setAhead(14.95);
  const replies = await Promise.all(Array.from({ length: 5 }, () => visitor.get(place, own)));
  expect(replies.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
  expect(await identity.store.get(key)).not.toBe(before);
  setAhead(0);
});

test('a session ends 8 hours after its sign-in, although it is used', async () => {
  for (let minutes = 0; minutes < 8 * 60; minutes += 12) {
    setAhead(minutes);
    expect([minutes, (await visitor.get(place, own)).status]).toEqual([minutes, 200]);
  }
  setAhead(8 * 60 + 1);
  expect(isSignIn(await visitor.get(place, own))).toBe(true);
  setAhead(0);
  await renew();
});

test('a user without the role and a second factor is told so, and gets no session', async () => {
  const other = createPageVisitor();
  const refused = await signInAt(other, place, stranger);
  expect([refused.status, refused.body]).toEqual([
    403,
    expect.stringContaining('cannot use the console'),
  ]);
  expect(other.cookies.has('console-session|/')).toBe(false);
});

test('a store that is unavailable is a page with 503, and ends no session', async () => {
  isStoreDown = true;
  const reply = await visitor.get(place, own);
  isStoreDown = false;
  expect([reply.status, reply.headers.get('retry-after')]).toEqual([503, '1']);
  expect(reply.body).toContain('The store is unavailable');
  expect((await visitor.get(place, own)).status).toBe(200);
});

test('a full store serves an operator who looks at it', async () => {
  isStoreFull = true;
  setAhead(2);
  const reply = await visitor.get(place, own);
  isStoreFull = false;
  setAhead(0);
  expect(reply.status).toBe(200);
});

test('the sign-ins of one network are limited', async () => {
  const crowd = createPageVisitor();
  const headers = { ...own, 'x-forwarded-for': '203.0.113.7' };
  const statuses = [];
  for (let count = 0; count < 31; count += 1) {
    statuses.push((await crowd.get(place, headers)).status);
  }
  expect([statuses.slice(0, 30).every((status) => status === 303), statuses[30]]).toEqual([
    true,
    429,
  ]);
});

test('a session ends when the user is disabled or loses the role', async () => {
  const { visitor: other } = await gatehouse.signIn('/organizations', reader);
  expect((await other.get(place, own)).status).toBe(200);
  const { userId = '' } = (await identity.users.findByUsername(reader.username)) ?? {};
  const roles = (await identity.users.find(userId))?.roles ?? [];
  await identity.users.update(userId, (user) => ({ ...user, roles: ['user'] }));
  expect(isSignIn(await other.get(place, own))).toBe(true);
  expect(other.cookies.has('console-session|/')).toBe(false);
  await identity.users.update(userId, (user) => ({ ...user, roles }));
  expect((await follow(other, await other.get(place))).url).toBe(place);
  await identity.users.update(userId, (user) => ({ ...user, enabled: false }));
  expect(isSignIn(await other.get(place, own))).toBe(true);
});

test('a sign-out ends the session here and at the authorization server', async () => {
  const before = await visitor.get(place, own);
  const [signOut = ''] =
    /<form method="post" action="\/sign-out">.*?<\/form>/s.exec(before.body) ?? [];
  const session = visitor.cookies.get('console-session|/') ?? '';
  const left = await visitor.submit(
    { ...before, body: signOut },
    {},
    { 'sec-fetch-site': 'same-origin' },
  );
  expect(new URL(left.location ?? '').origin + new URL(left.location ?? '').pathname).toBe(
    `${issuer}/logout`,
  );
  const end = await follow(visitor, left);
  expect([end.url, end.body]).toEqual([
    `${url}/signed-out`,
    expect.stringContaining('Your session in the console has ended'),
  ]);
  const key = `console-session:${identity.credentialHash(session)}`;
  expect(await identity.store.get(key)).toBeUndefined();
  const again = await fetch(place, {
    headers: { cookie: `console-session=${session}`, ...own },
    redirect: 'manual',
  });
  expect(again.status).toBe(303);
  expect(gatehouse.log()).not.toContain(session);
});

test('with https, every cookie belongs to this host alone', async () => {
  const cookies = createCookies({ secure: true, masterKey: randomBytes(32), now: Date.now });
  const app = express().get('/', (_request, response) => {
    cookies.writeSession(response, 'id');
    cookies.writeSignIn(response, { state: '', nonce: '', verifier: '', next: '/', at: 0 });
    cookies.writeNotice(response, 'saved');
    response.end();
  });
  const reply = await supertest(app).get('/');
  const lines: readonly string[] = [reply.headers['set-cookie'] ?? []].flat();
  expect(
    lines.map((line) => /^__Host-.*Path=\/; .*HttpOnly; Secure; SameSite=/.test(line)),
  ).toEqual([true, true, true]);
});
