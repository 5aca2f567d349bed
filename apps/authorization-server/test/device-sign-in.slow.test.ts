// requires: redis-server

import { createPageVisitor } from '@gatehouse/testing';
import { startOnEachEngine, startSystem } from '@gatehouse/testing/suite';
import { describe, expect, test } from '@jest/globals';
import { requestToken } from './fixtures.ts';
import {
  bob,
  bootstrap,
  connectDevice,
  introspect,
  kiosk,
  openPage,
  pollDevice,
  radio,
  startDevice,
  tokensFor,
  tv,
  withForm,
} from './page-fixtures.ts';

const systems = await startOnEachEngine({
  bootstrap,
  apps: ['authorization-server', 'authorization-server'],
});

describe.each(systems)('the device authorization grant over $engine', ({ system }) => {
  const issuer = system.authorizationServerUrl;

  test('returns the codes, the addresses and the interval of RFC 8628', async () => {
    const device = await startDevice(issuer, { scope: 'device:read' });
    expect(device).toEqual({
      device_code: expect.stringMatching(/^[\w-]{43}$/),
      user_code: expect.stringMatching(/^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/),
      verification_uri: `${issuer}/device`,
      verification_uri_complete: `${issuer}/device?user_code=${device.user_code}`,
      expires_in: 600,
      interval: 5,
    });
  });

  test('rejects unknown scopes, unregistered clients and a GET', async () => {
    expect(await startDevice(issuer, { scope: 'device:write' })).toMatchObject({
      error: 'invalid_scope',
    });
    expect(await startDevice(issuer, { client_id: 'nobody' })).toMatchObject({
      error: 'invalid_client',
    });
    expect((await fetch(`${issuer}/device/auth`)).status).toBe(405);
  });

  test('reports authorization_pending until the user allows access, and then returns tokens', async () => {
    const device = await startDevice(issuer);
    const pending = await pollDevice(issuer, device);
    expect([pending.status, pending.body.error]).toEqual([400, 'authorization_pending']);
    const done = await connectDevice(device);
    expect([done.status, done.body]).toEqual([200, expect.stringContaining('is connected')]);
    const { status, body } = await pollDevice(issuer, device);
    expect([status, body.scope]).toEqual([200, 'device:read profile']);
    expect(await introspect(issuer, body.access_token)).toMatchObject({ active: true });
    const refreshed = await requestToken(
      issuer,
      {
        grant_type: 'refresh_token',
        refresh_token: body.refresh_token,
        client_id: tv.clientId,
      },
      {},
    );
    expect(refreshed.status).toBe(200);
  });

  test('answers a device that polls too often with slow_down', async () => {
    const device = await startDevice(issuer);
    await pollDevice(issuer, device);
    const { status, body } = await pollDevice(system.authorizationServerUrls[1] ?? '', device);
    expect([status, body.error]).toEqual([400, 'slow_down']);
  });

  test.each(['deny', 'abort'] as const)(
    'tells the device when the user denies access (%s)',
    async (how) => {
      const device = await startDevice(issuer);
      if (how === 'deny') {
        const page = await connectDevice(device, { decision: 'deny' });
        expect(page.body).toContain('Nothing was connected');
      } else {
        const visitor = createPageVisitor();
        const form = await visitor.get(device.verification_uri);
        const question = await visitor.submit(form, { user_code: device.user_code });
        const page = await visitor.submit(question, { abort: 'yes' });
        expect(page.body).toContain('Nothing was connected');
      }
      const { status, body } = await pollDevice(issuer, device);
      expect([status, body.error]).toEqual([400, 'access_denied']);
    },
  );

  test('returns tokens to one of many concurrent polls over two processes', async () => {
    const device = await startDevice(issuer);
    await connectDevice(device);
    const polls = Array.from({ length: 20 }, (_, i) =>
      pollDevice(system.authorizationServerUrls[i % 2] ?? '', device),
    );
    const replies = await Promise.all(polls);
    expect(replies.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(replies.filter(({ body }) => body.error === 'invalid_grant')).toHaveLength(19);
  });

  test('rejects the device code from another client, and keeps it valid for its own', async () => {
    const device = await startDevice(issuer);
    const outcomeOf = async (client: typeof tv | typeof radio) => {
      const { status, body } = await pollDevice(issuer, device, client);
      return body.error ?? status;
    };
    expect(await outcomeOf(radio)).toBe('invalid_grant');
    expect(await outcomeOf(tv)).toBe('authorization_pending');
    await connectDevice(device);
    expect(await outcomeOf(radio)).toBe('invalid_grant');
    expect(await outcomeOf(tv)).toBe(200);
  });

  test('lets one of two browsers confirm a code', async () => {
    const device = await startDevice(issuer);
    const questions = await Promise.all(
      [createPageVisitor(), createPageVisitor()].map(async (visitor) => {
        const form = await visitor.get(device.verification_uri);
        return { visitor, page: await visitor.submit(form, { user_code: device.user_code }) };
      }),
    );
    const answers = await Promise.all(
      questions.map(({ visitor, page }) => visitor.submit(page, { confirm: 'yes' })),
    );
    const [won, lost] = answers.sort((a, b) => a.status - b.status);
    expect([won?.status, lost?.location]).toEqual([303, undefined]);
    expect(lost?.body).toContain('already used');
  });

  test('gives every device its own grant, which outlives the session of the browser', async () => {
    const visitor = createPageVisitor();
    const web = await tokensFor(issuer, visitor);
    const devices = [await startDevice(issuer), await startDevice(issuer)];
    const tokens = [];
    for (const device of devices) {
      await connectDevice(device, { visitor });
      tokens.push((await pollDevice(issuer, device)).body.access_token);
    }
    const question = await openPage(visitor, `${issuer}/logout`);
    await visitor.submit(question, { logout: 'yes' });
    expect(await introspect(issuer, web.access_token)).toEqual({ active: false });
    for (const token of tokens) {
      expect(await introspect(issuer, token)).toMatchObject({ active: true });
    }
    const account = await openPage(visitor, `${issuer}/account`);
    await visitor.submit(withForm(account, '/account/revoke', tv.clientId), {});
    for (const token of tokens) {
      expect(await introspect(issuer, token)).toEqual({ active: false });
    }
  });

  test('stores no readable device code, user code or token', async () => {
    const device = await startDevice(issuer);
    await connectDevice(device);
    const { body } = await pollDevice(issuer, device);
    const stored = await system.storedText();
    for (const secret of [device.device_code, device.user_code, body.access_token]) {
      expect(stored).not.toContain(secret);
      expect(stored).not.toContain(secret.replace('-', ''));
    }
  });
});

const system = await startSystem({ engine: 'sqlite', bootstrap, apps: ['authorization-server'] });
const issuer = system.authorizationServerUrl;

describe('the pages for the code of a device', () => {
  const enter = async (code: string, visitor = createPageVisitor()) =>
    visitor.submit(await visitor.get(`${issuer}/device`), { user_code: code });

  test('shows the client, warns of codes from an attacker, and leaves the scopes to the consent page', async () => {
    const device = await startDevice(issuer);
    const page = await enter(device.user_code.toLowerCase().replace('-', ' '));
    expect(page.status).toBe(200);
    for (const text of [
      tv.name,
      'Application ID: pages-tv',
      device.user_code,
      'someone sent you',
    ]) {
      expect(page.body).toContain(text);
    }
    expect(page.body).not.toContain('See your devices and their details');
  });

  test('lists the scopes of a first-party application, which has no consent page', async () => {
    const device = await startDevice(issuer, { client_id: kiosk.clientId, scope: 'device:read' });
    const page = await enter(device.user_code);
    expect(page.body).toContain('You allow it to:');
    expect(page.body).toContain('See your devices and their details');
    expect(page.body).not.toContain('on the next pages');
  });

  test('names blocked cookies as the cause when the browser sends none with the code', async () => {
    const body = new URLSearchParams({ user_code: (await startDevice(issuer)).user_code });
    const reply = await fetch(`${issuer}/device`, { method: 'POST', body });
    expect([reply.status, await reply.text()]).toEqual([
      403,
      expect.stringContaining('Your browser sent no cookies, so it may block them.'),
    ]);
  });

  test('fills in the code of a link, and still asks the user to confirm it', async () => {
    const device = await startDevice(issuer);
    const page = await createPageVisitor().get(device.verification_uri_complete);
    expect(page.body).toContain(`value="${device.user_code}"`);
    expect(page.body).not.toContain('<script');
    expect(page.body).not.toContain(tv.name);
    const marked = encodeURIComponent('"><script>alert(1)</script>');
    const attacked = await createPageVisitor().get(`${issuer}/device?user_code=${marked}`);
    expect(attacked.body).not.toContain('<script');
  });

  test('reports what is wrong with a code, and keeps the typed text', async () => {
    const unknown = await enter('BBBB-BBBB');
    expect([unknown.status, unknown.body]).toEqual([
      422,
      expect.stringContaining('does not exist'),
    ]);
    expect(unknown.body).toContain('value="BBBB-BBBB"');
    expect(unknown.body).toContain('aria-invalid="true"');
    expect((await enter('')).body).toContain('Enter the code');
    const device = await startDevice(issuer);
    await connectDevice(device);
    expect((await enter(device.user_code)).body).toContain('already used');
  });

  test('rejects a form without its token or with the token of another browser', async () => {
    const device = await startDevice(issuer);
    const [one, other] = [createPageVisitor(), createPageVisitor()];
    const form = await one.get(device.verification_uri);
    const foreign = await other.get(device.verification_uri);
    const token = /name="xsrf" value="([^"]*)"/.exec(foreign.body)?.[1] ?? '';
    for (const xsrf of ['', token]) {
      const fields = { xsrf, user_code: device.user_code, confirm: 'yes' };
      const page = await one.submit(form, fields);
      expect([page.status, page.location]).toEqual([403, undefined]);
    }
    expect((await pollDevice(issuer, device)).body.error).toBe('authorization_pending');
  });

  test('lets only the browser that confirmed the code continue', async () => {
    const device = await startDevice(issuer);
    const [one, other] = [createPageVisitor(), createPageVisitor()];
    const form = await one.get(device.verification_uri);
    const question = await one.submit(form, { user_code: device.user_code });
    const confirmed = await one.submit(question, { confirm: 'yes' });
    const signIn = confirmed.location ?? '';
    expect((await other.get(signIn)).status).toBe(400);
    const resumed = await other.get(signIn.replace('/sign-in/', '/device/'));
    expect([resumed.status, resumed.location]).toEqual([400, undefined]);
    expect((await pollDevice(issuer, device)).body.error).toBe('authorization_pending');
  });

  test('lets the user continue with another account', async () => {
    const device = await startDevice(issuer);
    const visitor = createPageVisitor();
    await openPage(visitor, `${issuer}/account`);
    const form = await visitor.get(device.verification_uri);
    const question = await visitor.submit(form, { user_code: device.user_code });
    const confirmed = await visitor.submit(question, { confirm: 'yes' });
    const consent = await visitor.get(confirmed.location ?? '');
    expect(consent.body).toContain('Alice Example');
    const signIn = await visitor.get(`${consent.url}/account`);
    let page = await visitor.submit(signIn, bob);
    while (page.location !== undefined) {
      page = await visitor.get(page.location);
    }
    expect(page.body).toContain('Bob &lt;Example&gt;');
    page = await visitor.submit(page, { decision: 'allow' });
    await visitor.get(page.location ?? '');
    const { body } = await pollDevice(issuer, device);
    const { sub } = (await introspect(issuer, body.access_token)) as unknown as { sub: string };
    const account = await openPage(visitor, `${issuer}/account`, bob);
    expect(account.body).toContain(sub);
  });

  test('makes an address wait after twenty wrong codes', async () => {
    const visitor = createPageVisitor();
    const form = await visitor.get(`${issuer}/device`);
    const statuses: number[] = [];
    for (let guess = 0; guess < 21; guess += 1) {
      const page = await enter('CCCC-CCCC');
      statuses.push(page.status);
    }
    expect(statuses.at(-1)).toBe(429);
    const page = await visitor.submit(form, { user_code: (await startDevice(issuer)).user_code });
    expect(page.status).toBe(429);
    expect(Number(page.headers.get('retry-after'))).toBeGreaterThan(500);
    expect(page.body).toContain('Too many wrong codes');
  });
});
