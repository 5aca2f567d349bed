/** Attacks on the way to an upstream provider and back. */
import { describe, expect, test } from '@jest/globals';
import { alice } from './installation.ts';
import { cookiesOf, withForm } from './server.ts';
import { createBrowsers, startWithUpstreams } from './upstream-servers.ts';

const upstreams = await startWithUpstreams();
const { foreign, lax, started } = upstreams;

const EXPIRED = 'has expired or was started in another browser';
const FAILED = 'did not sign you in';

/** A callback with other parameters. Undefined removes one. */
function changed(callback: string, changes: Readonly<Record<string, string | undefined>>): string {
  const url = new URL(callback);
  for (const [name, value] of Object.entries(changes)) {
    url.searchParams.delete(name);
    if (value !== undefined) {
      url.searchParams.set(name, value);
    }
  }
  return url.href;
}

describe.each(started)('on $engine', ({ system }) => {
  const { identity, first } = system;
  const { newBrowser, follow, leave, arrive, signIn, userAt } = createBrowsers(upstreams, system);
  let accounts = 0;

  /** A browser before its callback, with a new account. */
  async function beforeCallback(id = 'corp') {
    accounts += 1;
    const account = { sub: `attacked-${accounts}` };
    foreign.account = account;
    const { visitor, location } = await leave(id);
    return { account, visitor, callback: await arrive(visitor, location) };
  }
  const open = async (visitor: ReturnType<typeof newBrowser>, address: string) => {
    const { status, body } = await follow(visitor, await visitor.get(address));
    return [status, body] as const;
  };
  const refused = (status: number, message: string) => [status, expect.stringContaining(message)];

  test.each([
    ['another state', 'a.b'],
    ['no state', undefined],
    ['a state that names another page', 'a./evil.example'],
    ['the state of the account page', 'a.account'],
    ['a state with a changed secret', 'a'],
  ])('a callback with %s signs nobody in', async (_name, wrong) => {
    const { account, visitor, callback } = await beforeCallback();
    const [, place = ''] = new URL(callback).searchParams.get('state')?.split('.') ?? [];
    const full = wrong === 'a' ? `a.${place}` : wrong;
    const state = full?.replace(/^a/, 'a'.repeat(43));
    const [status, body] = await open(visitor, changed(callback, { state }));
    expect(body).toContain(status === 200 ? 'name="password"' : EXPIRED);
    expect(await userAt('corp', account)).toBeUndefined();
    expect((await open(visitor, callback))[0]).toBe(200);
  });

  test('a callback works once, although the provider accepts its code again', async () => {
    lax.changes = {};
    const before = lax.redeemed;
    const { visitor, location } = await leave('lax');
    const { location: callback = '' } = await visitor.get(location);
    const { location: address = '' } = await visitor.get(callback);
    const cookie = cookiesOf(visitor, new URL(address).pathname);
    const replay = () => fetch(address, { headers: { cookie }, redirect: 'manual' });
    const replies = [...(await Promise.all(Array.from({ length: 10 }, replay))), await replay()];
    expect(replies.map(({ status }) => status).sort()).toEqual([303, ...Array(10).fill(400)]);
    expect(lax.redeemed).toBe(before + 1);
  });

  test('a callback in another browser signs nobody in', async () => {
    const { account, callback } = await beforeCallback();
    const victim = newBrowser();
    expect((await open(victim, callback))[0]).toBe(400);
    const { visitor } = await leave('corp');
    expect((await open(visitor, callback))[0]).toBe(400);
    expect(await userAt('corp', account)).toBeUndefined();
  });

  test('a code of another browser is rejected by its verifier or nonce', async () => {
    const victim = await beforeCallback();
    const attacker = await beforeCallback();
    const code = new URL(victim.callback).searchParams.get('code') ?? '';
    const injected = await open(attacker.visitor, changed(attacker.callback, { code }));
    expect(injected).toEqual(refused(400, FAILED));
    expect(await userAt('corp', victim.account)).toBeUndefined();
  });

  test('the code of one provider never reaches another one', async () => {
    const { account, visitor, callback } = await beforeCallback('corp');
    const elsewhere = callback.replace('/upstream/corp/', '/upstream/oauth/');
    expect(await open(visitor, elsewhere)).toEqual(refused(400, EXPIRED));
    expect(await userAt('corp', account)).toBeUndefined();
    expect((await open(visitor, callback))[0]).toBe(200);
  });

  test.each(['https://attacker.example', undefined])(
    'a reply with the issuer %s is rejected (RFC 9207)',
    async (iss) => {
      const { account, visitor, callback } = await beforeCallback();
      expect(await open(visitor, changed(callback, { iss }))).toEqual(refused(502, FAILED));
      expect(await userAt('corp', account)).toBeUndefined();
    },
  );

  test('an error of the provider leads to the other ways to sign in', async () => {
    const { visitor, callback } = await beforeCallback();
    const denied = changed(callback, { code: undefined, error: 'access_denied' });
    expect(await open(visitor, denied)).toEqual(refused(400, FAILED));
  });

  test.each([
    ['another issuer', { iss: 'https://attacker.example' }],
    ['another audience', { aud: 'another-client' }],
    ['another nonce', { nonce: 'another' }],
    ['an expiry in the past', { exp: 1 }],
    ['no subject', { sub: undefined }],
    ['a signature of another key', { isForged: true }],
  ])('an ID token with %s signs nobody in', async (_name, changes) => {
    lax.changes = changes;
    const { visitor, location } = await leave('lax');
    const { location: callback = '' } = await visitor.get(location);
    expect(await open(visitor, callback)).toEqual(refused(502, FAILED));
  });

  test('a link at one issuer is worth nothing at another one with the same id', async () => {
    const account = { sub: 'moved' };
    expect((await signIn('corp', account)).status).toBe(200);
    const known = (await identity.settings.read()).upstreams.get('corp');
    const moved = known && { ...known, issuer: 'https://attacker.example' };
    expect(moved && (await identity.upstreamLinks.find(moved, 'moved'))).toBeUndefined();
  });

  test('another site cannot connect its account to that of a user', async () => {
    // The attacker starts at the own account page, and leads the victim to the callback.
    const attacker = newBrowser();
    const own = await first.open(attacker, '/account', alice);
    foreign.account = { sub: 'attacker' };
    const form = withForm(own, '/account/upstreams/plain/connect');
    const { location = '' } = await attacker.submit(form, {});
    const callback = await arrive(attacker, location);
    const victim = newBrowser();
    await first.open(victim, '/account', alice);
    expect(await open(victim, callback)).toEqual(refused(400, EXPIRED));
    const signedOut = newBrowser();
    const { location: next } = await signedOut.get((await signedOut.get(callback)).location ?? '');
    expect(next).toContain('/authorize?');
    expect(await userAt('plain', { sub: 'attacker' })).toBeUndefined();
  });
});
