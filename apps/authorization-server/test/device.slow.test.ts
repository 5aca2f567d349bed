// requires: redis-server
/** The device authorization grant (RFC 8628). */

import { createPageVisitor, newPkce, type PageVisitor } from '@gatehouse/testing';
import { describe, expect, test } from '@jest/globals';
import { alice, bob, kiosk, olga, player, radio, screen, tv } from './installation.ts';
import {
  type DeviceCode,
  failToSignIn,
  hiddenField,
  outcome,
  refreshing,
  startOnEngines,
  startServers,
  withForm,
} from './server.ts';

const pending = [400, 'authorization_pending'];
const systems = await startOnEngines({ servers: 2 });

describe.each(systems)('the device authorization grant over $engine', ({ system }) => {
  const { confirmDevice, connectDevice, isActive, issuer, newCode, open, poll, redeem } =
    system.first;
  const { startDevice, token, tokensFor } = system.first;

  test('returns codes, and tokens after the user allowed access', async () => {
    const device = await startDevice({ scope: 'device:read' });
    expect(device).toEqual({
      device_code: expect.stringMatching(/^[\w-]{43}$/),
      user_code: expect.stringMatching(/^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/),
      verification_uri: `${issuer}/device`,
      verification_uri_complete: `${issuer}/device?user_code=${device.user_code}`,
      expires_in: 600,
      interval: 5,
    });
    expect(outcome(await poll(device))).toEqual(pending);
    expect(outcome(await system.second.poll(device))).toEqual([400, 'slow_down']);
    const done = await connectDevice(device);
    expect([done.status, done.body]).toEqual([200, expect.stringContaining('is connected')]);
    const { status, body } = await poll(device);
    expect([status, body.scope]).toEqual([200, 'device:read']);
    expect(await isActive(body.access_token)).toBe(true);
    const refresh = { ...refreshing(body.refresh_token), client_id: tv.clientId };
    expect((await token(refresh, {})).status).toBe(200);
    const secrets = [device.device_code, device.user_code, body.access_token].map(String);
    const stored = await system.storedText();
    const forms = secrets.flatMap((secret) => [secret, secret.replace('-', '')]);
    expect(forms.filter((secret) => stored.includes(secret))).toEqual([]);
  });

  test.each(['deny', 'abort'])('tells the device when the user stops: %s', async (how) => {
    const device = await startDevice();
    const visitor = createPageVisitor();
    const form = await visitor.get(device.verification_uri ?? '');
    const page =
      how === 'deny'
        ? await connectDevice(device, { decision: 'deny' })
        : await visitor.submit(await visitor.submit(form, { user_code: device.user_code ?? '' }), {
            abort: 'yes',
          });
    expect(page.body).toContain('Nothing was connected');
    expect(outcome(await poll(device))).toEqual([400, 'access_denied']);
  });

  test('rejects the device code from another client, and keeps it valid for its own', async () => {
    const device = await startDevice();
    expect(outcome(await poll(device, radio))).toEqual([400, 'invalid_grant']);
    expect(outcome(await poll(device))).toEqual(pending);
    await connectDevice(device);
    expect(outcome(await poll(device, radio))).toEqual([400, 'invalid_grant']);
    expect((await poll(device)).status).toBe(200);
  });

  test('lets one of two browsers confirm a code', async () => {
    const device = await startDevice();
    const answers = await Promise.all(
      [createPageVisitor(), createPageVisitor()].map((visitor) => confirmDevice(device, visitor)),
    );
    const [won, lost] = answers.sort((a, b) => a.status - b.status);
    expect([won?.status, lost?.location]).toEqual([303, undefined]);
    expect(lost?.body).toContain('already used');
  });

  test('gives every device its own grant, which outlives the session of the browser', async () => {
    const visitor = createPageVisitor();
    const inBrowser = await tokensFor({}, alice, visitor);
    // The same client signs users in on devices and in the browser.
    const { verifier, pkce } = newPkce();
    const { clientId: client_id, redirectUri: redirect_uri } = player;
    const code = await newCode({ client_id, redirect_uri, ...pkce }, alice, visitor);
    const redemption = { client_id, redirect_uri, code_verifier: verifier };
    const ofPlayer = (await redeem(code, redemption, {})).body;
    const clients = [tv, tv, player];
    const onDevices: string[] = [];
    for (const client of clients) {
      const device = await startDevice({ client_id: client.clientId });
      await connectDevice(device, { visitor });
      onDevices.push((await poll(device, client)).body.access_token);
    }
    const areActive = (values: readonly string[]) =>
      Promise.all(values.map((each) => isActive(each)));
    expect(await areActive(onDevices)).toEqual([true, true, true]);
    await visitor.submit(await open(visitor, '/logout'), { logout: 'yes' });
    expect(await areActive([inBrowser.access_token, ofPlayer.access_token])).toEqual([
      false,
      false,
    ]);
    expect(await areActive(onDevices)).toEqual([true, true, true]);
    const account = await open(visitor, '/account');
    await visitor.submit(withForm(account, '/account/revoke', `value="${tv.clientId}"`), {});
    expect(await areActive(onDevices)).toEqual([false, false, true]);
  });
});

const { first } = await startServers();

describe('a device for one organization only', () => {
  const startScreen = () => first.startDevice({ client_id: screen.clientId });
  const confirm = async (device: DeviceCode, visitor: PageVisitor) =>
    visitor.get((await first.confirmDevice(device, visitor)).location ?? '');

  test('can be connected by a user of that organization', async () => {
    const device = await startScreen();
    await first.connectDevice(device, { user: olga });
    expect((await first.poll(device, screen)).status).toBe(200);
  });

  test('rejects the password of another user like a wrong one', async () => {
    const device = await startScreen();
    const visitor = createPageVisitor();
    await failToSignIn(visitor, await confirm(device, visitor), alice);
    expect(outcome(await first.poll(device, screen))).toEqual(pending);
  });

  test('rejects a user of another organization who is already signed in', async () => {
    const device = await startScreen();
    const visitor = createPageVisitor();
    await first.open(visitor, '/account');
    const page = await confirm(device, visitor);
    expect(page.body).toContain('name="password"');
    expect(page.body).not.toContain('name="decision"');
    expect(outcome(await first.poll(device, screen))).toEqual(pending);
  });
});

describe('the pages for the code of a device', () => {
  const { connectDevice, get, issuer, open, poll, post, startDevice } = first;
  const enter = async (code = '', visitor = createPageVisitor()) =>
    visitor.submit(await visitor.get(`${issuer}/device`), { user_code: code });

  test('show the client, warn of codes from an attacker, and leave the scopes to the consent page', async () => {
    const { user_code = '' } = await startDevice();
    const page = await enter(user_code.toLowerCase().replace('-', ' '));
    expect(page.status).toBe(200);
    for (const text of [tv.name, 'Application ID: tv', user_code, 'someone sent you']) {
      expect(page.body).toContain(text);
    }
    expect(page.body).not.toContain('See your devices and their details');
  });

  test('list the scopes of a first-party application, which has no consent page', async () => {
    const device = await startDevice({ client_id: kiosk.clientId, scope: 'device:read' });
    const page = await enter(device.user_code);
    expect(page.body).toContain('You allow it to:');
    expect(page.body).toContain('See your devices and their details');
    expect(page.body).not.toContain('on the next pages');
  });

  test('name blocked cookies as the cause when the browser sends none with the code', async () => {
    const { user_code = '' } = await startDevice();
    const { status, body } = await post('/device', { user_code }, {});
    expect([status, body]).toEqual([
      403,
      expect.stringContaining('Your browser sent no cookies, so it may block them.'),
    ]);
  });

  test('fill in the code of a link, and still ask the user to confirm it', async () => {
    const device = await startDevice();
    const page = await get(device.verification_uri_complete ?? '');
    expect(page.body).toContain(`value="${device.user_code}"`);
    expect(page.body).not.toContain(tv.name);
    const marked = encodeURIComponent('"><script>alert(1)</script>');
    expect((await get(`/device?user_code=${marked}`)).body).not.toContain('<script');
  });

  test('report what is wrong with a code, and keep the typed text', async () => {
    const unknown = await enter('BBBB-BBBB');
    expect(unknown.status).toBe(422);
    for (const text of ['does not exist', 'value="BBBB-BBBB"', 'aria-invalid="true"']) {
      expect(unknown.body).toContain(text);
    }
    expect((await enter('')).body).toContain('Enter the code');
    const device = await startDevice();
    await connectDevice(device);
    expect((await enter(device.user_code)).body).toContain('already used');
  });

  test('reject a form without its token or with the token of another browser', async () => {
    const device = await startDevice();
    const [one, other] = [createPageVisitor(), createPageVisitor()];
    const form = await one.get(device.verification_uri ?? '');
    const foreign = hiddenField(await other.get(device.verification_uri ?? ''), 'xsrf');
    for (const xsrf of ['', foreign]) {
      const fields = { xsrf, user_code: device.user_code ?? '', confirm: 'yes' };
      const page = await one.submit(form, fields);
      expect([page.status, page.location]).toEqual([403, undefined]);
    }
    expect(outcome(await poll(device))).toEqual(pending);
  });

  test('let only the browser that confirmed the code continue', async () => {
    const device = await startDevice();
    const { location = '' } = await first.confirmDevice(device, createPageVisitor());
    for (const url of [location, location.replace('/sign-in/', '/device/')]) {
      const foreign = await get(url);
      expect([foreign.status, foreign.location]).toEqual([400, undefined]);
    }
    expect(outcome(await poll(device))).toEqual(pending);
  });

  test('let the user continue with another account', async () => {
    const device = await startDevice();
    const visitor = createPageVisitor();
    await open(visitor, '/account');
    const confirmed = await first.confirmDevice(device, visitor);
    const consent = await visitor.get(confirmed.location ?? '');
    expect(consent.body).toContain('Alice Example');
    const page = await open(visitor, `${consent.url}/account`, bob);
    expect(page.body).toContain('Bob &lt;Example&gt;');
    const allowed = await visitor.submit(page, { decision: 'allow' });
    await visitor.get(allowed.location ?? '');
    const { sub } = await first.introspect((await poll(device)).body.access_token);
    expect((await open(visitor, '/account', bob)).body).toContain(sub);
  });

  test('make an address wait after twenty wrong codes', async () => {
    const visitor = createPageVisitor();
    const form = await visitor.get(`${issuer}/device`);
    let status = 0;
    for (let guess = 0; guess < 21; guess += 1) {
      ({ status } = await enter('CCCC-CCCC'));
    }
    expect(status).toBe(429);
    const { user_code = '' } = await startDevice();
    const page = await visitor.submit(form, { user_code });
    expect([page.status, page.body]).toEqual([
      429,
      expect.stringContaining('Too many wrong codes'),
    ]);
    expect(Number(page.headers.get('retry-after'))).toBeGreaterThan(500);
  });
});
