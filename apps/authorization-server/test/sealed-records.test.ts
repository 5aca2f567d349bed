// requires: redis-server
import { randomBytes } from 'node:crypto';
import { createPageVisitor } from '@gatehouse/testing';
import { describe, expect, test } from '@jest/globals';
import { recordKey } from '../src/provider/oidc-adapter.ts';
import { alice, bob, web } from './installation.ts';
import { asWeb, hiddenField, startOnEngines } from './server.ts';

const marker = () => `marker-${randomBytes(8).toString('hex')}`;
const base64url = (text: string) => Buffer.from(text).toString('base64url');

const systems = await startOnEngines();

describe.each(systems)('records between two requests of a browser, on $engine', ({ system }) => {
  const { authorizationUrl, get, issuer, open, post } = system.first;
  const found = async (...texts: readonly string[]) => {
    const stored = await system.storedText();
    return texts.filter((text) => stored.includes(text));
  };

  test('contain no readable request of an interaction, in the store or in its cookie', async () => {
    const visitor = createPageVisitor();
    const [state, nonce, hint] = [marker(), marker(), marker()];
    const request = { scope: 'openid', state, nonce, login_hint: hint };
    const redirect = await visitor.get(authorizationUrl(request));
    // The record of the client contains the address, so the search finds readable text.
    expect(await found(state, nonce, hint, web.redirectUri)).toEqual([web.redirectUri]);
    const cookies = [...visitor.cookies.values()].flatMap((value) => [
      value,
      Buffer.from(value, 'base64url').toString('latin1'),
    ]);
    expect([state, nonce, hint].filter((text) => cookies.join('\n').includes(text))).toEqual([]);
    expect((await visitor.get(redirect.location ?? '')).body).toContain(hint);
  });

  test('contain neither a readable pushed request nor its request_uri', async () => {
    const [state, nonce] = [marker(), marker()];
    const { redirectUri: redirect_uri, clientId: client_id } = web;
    const request = { response_type: 'code', client_id, redirect_uri, state, nonce };
    const { request_uri } = (await post('/par', request, asWeb)).body;
    // The library stores the request as an unsigned token, which is the base64url form of its JSON.
    const encoded = [state, nonce].flatMap((text) =>
      [text, ` ${text}`, `  ${text}`].map((shifted) => base64url(shifted).slice(4, 24)),
    );
    expect(await found(state, nonce, request_uri.split(':').at(-1), ...encoded)).toEqual([]);
    const query = new URLSearchParams({ client_id, request_uri });
    expect((await get(`/authorize?${query}`)).location).toContain('/sign-in/');
  });

  test('contain no readable session id or form token, and a session ends after 14 days', async () => {
    const visitor = createPageVisitor();
    const staying = { ...alice, remember: 'yes' };
    await open(visitor, '/account', staying);
    const question = await visitor.get(`${issuer}/logout`);
    const secrets = [hiddenField(question, 'xsrf'), visitor.cookies.get('session|/') ?? ''];
    expect(secrets.map((text) => text.length > 20)).toEqual([true, true]);
    expect(await found(...secrets)).toEqual([]);
    const { credentialHash, sealer } = system.identity;
    const key = recordKey('Session', secrets[1] ?? '', credentialHash);
    const { exp } = JSON.parse(sealer.open((await system.store.get(key)) ?? '', key));
    expect(Math.round((exp - Date.now() / 1000) / 3600)).toBe(14 * 24);
    expect((await visitor.submit(question, { logout: 'yes' })).status).toBe(303);
  });

  test('do not sign an attacker in who copies one to the key of their own session', async () => {
    const [theirs, mine] = [createPageVisitor(), createPageVisitor()];
    await open(theirs, '/account', alice);
    await open(mine, '/account', bob);
    const [from = '', to = ''] = [theirs, mine].map(({ cookies }) =>
      recordKey('Session', cookies.get('session|/') ?? '', system.identity.credentialHash),
    );
    await system.store.set(to, (await system.store.get(from)) ?? '');
    const page = await mine.get(`${issuer}/account`);
    // The account page asks to sign in.
    expect([page.status, page.body.includes('Alice Example')]).toEqual([303, false]);
    expect((await theirs.get(`${issuer}/account`)).body).toContain('Alice Example');
  });
});
