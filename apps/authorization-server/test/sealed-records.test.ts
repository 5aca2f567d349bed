// requires: redis-server

import { randomBytes } from 'node:crypto';
import { createPageVisitor } from '@gatehouse/testing';
import { startOnEachEngine } from '@gatehouse/testing/suite';
import { describe, expect, test } from '@jest/globals';
import { recordKey } from '../src/provider/oidc-adapter.ts';
import { alice, authorizationUrl, pushRequest, web } from './fixtures.ts';
import { startInProcess } from './in-process-server.ts';
import { bob, bootstrap, openPage } from './page-fixtures.ts';

const marker = () => `marker-${randomBytes(8).toString('hex')}`;

const systems = await startOnEachEngine({ bootstrap, apps: ['authorization-server'] });

describe.each(systems)('records between two requests of a browser, on $engine', ({ system }) => {
  const issuer = system.authorizationServerUrl;

  const isStored = async (...texts: readonly string[]) => {
    const stored = await system.storedText();
    return texts.filter((text) => stored.includes(text));
  };

  test('contain no readable request of an interaction, in the store or in its cookie', async () => {
    const visitor = createPageVisitor();
    const [state, nonce, hint] = [marker(), marker(), marker()];
    const request = { scope: 'openid', state, nonce, login_hint: hint };
    const redirect = await visitor.get(authorizationUrl(issuer, request));
    // The record of the client contains the address, so the search finds readable text.
    expect(await isStored(state, nonce, hint, web.redirectUri)).toEqual([web.redirectUri]);
    const cookies = [...visitor.cookies.values()].flatMap((value) => [
      value,
      Buffer.from(value, 'base64url').toString('latin1'),
    ]);
    expect([state, nonce, hint].filter((text) => cookies.join('\n').includes(text))).toEqual([]);
    const page = await visitor.get(redirect.location ?? '');
    expect(page.body).toContain(hint);
  });

  test('contain neither a readable pushed request nor its request_uri', async () => {
    const [state, nonce] = [marker(), marker()];
    const address = await pushRequest(issuer, { scope: 'openid', state, nonce });
    const id = address.split(':').at(-1) ?? '';
    // The library stores the request as an unsigned token, which is the base64url form of its JSON.
    const encoded = [state, nonce].flatMap((text) =>
      [text, ` ${text}`, `  ${text}`].map((shifted) =>
        Buffer.from(shifted).toString('base64url').slice(4, 24),
      ),
    );
    expect(await isStored(state, nonce, id, ...encoded)).toEqual([]);
    const query = new URLSearchParams({ client_id: web.clientId, request_uri: address });
    const redirect = await createPageVisitor().get(`${issuer}/authorize?${query}`);
    expect(redirect.location).toContain('/sign-in/');
  });

  test('contain no readable session id or form token', async () => {
    const visitor = createPageVisitor();
    await openPage(visitor, `${issuer}/account`);
    const question = await visitor.get(`${issuer}/logout`);
    const token = /name="xsrf" value="([^"]+)"/.exec(question.body)?.[1] ?? '';
    const id = visitor.cookies.get('session|/') ?? '';
    expect([token, id].map((text) => text.length > 20)).toEqual([true, true]);
    expect(await isStored(token, id)).toEqual([]);
    expect((await visitor.submit(question, { logout: 'yes' })).status).toBe(303);
  });
});

describe('the record of a session in the store', () => {
  test('does not sign an attacker in who copies it to the key of their own session', async () => {
    const { issuer, store, identity, stop } = await startInProcess({ bootstrap });
    const [theirs, mine] = [createPageVisitor(), createPageVisitor()];
    await openPage(theirs, `${issuer}/account`, alice);
    await openPage(mine, `${issuer}/account`, bob);
    const [from = '', to = ''] = [theirs, mine].map(({ cookies }) =>
      recordKey('Session', cookies.get('session|/') ?? '', identity.credentialHash),
    );
    await store.set(to, (await store.get(from)) ?? '');
    const page = await mine.get(`${issuer}/account`);
    // The account page asks to sign in.
    expect([page.status, page.body.includes('Alice Example')]).toEqual([303, false]);
    expect((await theirs.get(`${issuer}/account`)).body).toContain('Alice Example');
    await stop();
  });
});
