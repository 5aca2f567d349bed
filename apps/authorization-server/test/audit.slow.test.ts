// requires: redis-server
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type AuditEntry, type Identity, openIdentity } from '@gatehouse/identity';
import { createStore } from '@gatehouse/store';
import {
  authorizeAsUser,
  type Constellation,
  createPageVisitor,
  integrationEngines,
  startConstellation,
  until,
} from '@gatehouse/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { accountLimit } from '../src/throttle/limits.ts';
import { alice, authorizationUrl, basic, bootstrap, requestToken, web } from './fixtures.ts';
import { connectDevice, DEVICE_GRANT, pollDevice, startDevice, tv } from './page-fixtures.ts';

const typedByMistake = 'hunter2-typed-as-the-username';

describe.each(integrationEngines)('the audit of the authorization server on %s', (engine) => {
  let directory: string;
  let system: Constellation;
  let identity: Identity;
  let issuer: string;
  let userId: string;
  let since: string;

  beforeAll(async () => {
    directory = mkdtempSync(join(tmpdir(), 'gatehouse-audit-'));
    const masterKey = randomBytes(32);
    const MASTER_KEY_FILE = join(directory, 'master.key');
    writeFileSync(MASTER_KEY_FILE, masterKey.toString('hex'), { mode: 0o600 });
    const implicit = {
      clientId: 'implicit',
      secureKey: 'implicitKey0123456789',
      name: 'Implicit',
      orgId: 'org-1',
      grantTypes: ['implicit'],
      redirectUris: ['https://app.example/spa'],
      scopes: ['device:read'],
      firstParty: true,
    };
    const password = {
      clientId: 'password',
      secureKey: 'passwordKey0123456789',
      name: 'Password',
      orgId: 'org-1',
      grantTypes: ['password'],
      scopes: ['device:read'],
    };
    const device = {
      ...tv,
      orgId: 'org-1',
      public: true,
      grantTypes: [DEVICE_GRANT],
      scopes: ['device:read'],
    };
    system = await startConstellation({
      engine,
      bootstrap: { ...bootstrap, clients: [...bootstrap.clients, implicit, password, device] },
      apps: ['authorization-server', 'authorization-server'],
      environment: { MASTER_KEY_FILE },
    });
    issuer = system.authorizationServerUrl;
    identity = openIdentity({ store: createStore(system.storeUrl), masterKey });
    userId = (await identity.users.findByUsername(alice.username))?.userId ?? '';
  });
  afterAll(async () => {
    await identity.store.close();
    await system.stop();
    rmSync(directory, { recursive: true });
  });
  beforeEach(async () => {
    await sleep(60);
    since = new Date().toISOString();
  });

  /**
   * The entries that the test caused, oldest first. Servers write them up to a moment after the
   * reply.
   */
  async function recorded(count: number): Promise<readonly AuditEntry[]> {
    const deadline = Date.now() + 2000;
    for (;;) {
      const entries = await identity.audit.read({ since, limit: 100 });
      if (entries.length >= count || Date.now() > deadline) {
        // A duplicate entry would arrive soon after.
        await sleep(60);
        return (await identity.audit.read({ since, limit: 100 })).toReversed();
      }
      await sleep(10);
    }
  }
  const request = {
    actor: 'authorization-server',
    address: expect.stringMatching(/^(127\.0\.0\.1|::1)$/),
    requestId: expect.stringMatching(/^[\w-]{8,64}$/),
    id: expect.any(String),
    at: expect.any(String),
  };

  const business = { ...request, severity: 'info', outcome: 'success' };

  const redeem = (code: string, server = issuer) =>
    requestToken(server, {
      grant_type: 'authorization_code',
      code,
      redirect_uri: web.redirectUri,
    });
  const newCode = async () =>
    (await authorizeAsUser(authorizationUrl(issuer), alice)).searchParams.get('code') ?? '';

  test('records a token for a machine once, with grant and scope', async () => {
    await requestToken(issuer, { grant_type: 'client_credentials', scope: 'device:log' });
    expect(await recorded(1)).toEqual([
      {
        ...request,
        event: 'token_issued',
        severity: 'info',
        outcome: 'success',
        grant: 'client_credentials',
        clientId: web.clientId,
        scope: 'device:log',
      },
    ]);
  });

  test('records sign-in, code, replay and refresh of a user, each once', async () => {
    const code = await newCode();
    const { body } = await redeem(code);
    const refreshed = await requestToken(issuer, {
      grant_type: 'refresh_token',
      refresh_token: body.refresh_token,
    });
    expect(refreshed.status).toBe(200);
    expect((await redeem(code, system.authorizationServerUrls[1])).status).toBe(400);
    const parties = { clientId: web.clientId, userId };
    expect(await recorded(4)).toEqual([
      { ...business, ...parties, event: 'sign_in_succeeded', method: 'page' },
      {
        ...business,
        ...parties,
        event: 'token_issued',
        grant: 'authorization_code',
        scope: expect.stringContaining('device:read'),
      },
      {
        ...business,
        ...parties,
        event: 'token_issued',
        grant: 'refresh_token',
        scope: expect.stringContaining('device:read'),
      },
      {
        ...request,
        ...parties,
        event: 'code_replayed',
        grantId: expect.stringMatching(/^[\w-]{43}$/),
        severity: 'alert',
        outcome: 'failure',
      },
    ]);
  });

  test('records the replay of a refresh token once, with its client and user', async () => {
    const refresh = (refresh_token: string) =>
      requestToken(issuer, { grant_type: 'refresh_token', refresh_token });
    const { body: first } = await redeem(await newCode());
    const { body: second } = await refresh(first.refresh_token);
    await refresh(second.refresh_token);
    expect((await refresh(first.refresh_token)).body.error).toBe('invalid_grant');
    const replays = (await recorded(5)).filter(({ outcome }) => outcome === 'failure');
    expect(replays).toEqual([
      {
        ...request,
        event: 'refresh_token_replayed',
        severity: 'alert',
        outcome: 'failure',
        clientId: web.clientId,
        userId,
        grantId: expect.stringMatching(/^[\w-]{43}$/),
      },
    ]);
  });

  test('records a token of the implicit flow once', async () => {
    const url = new URL(`${issuer}/authorize`);
    url.search = new URLSearchParams({ response_type: 'token', client_id: 'implicit' }).toString();
    url.searchParams.set('redirect_uri', 'https://app.example/spa');
    const landing = await authorizeAsUser(url.href, alice);
    expect(landing.hash).toContain('access_token');
    expect(await recorded(2)).toMatchObject([
      { event: 'sign_in_succeeded', clientId: 'implicit', userId },
      { event: 'token_issued', grant: 'implicit', clientId: 'implicit', userId },
    ]);
  });

  test('records the sign-in and the token of a device, each once', async () => {
    const device = await startDevice(issuer);
    await connectDevice(device);
    expect((await pollDevice(issuer, device)).status).toBe(200);
    const parties = { clientId: tv.clientId, userId };
    expect(await recorded(2)).toEqual([
      { ...business, ...parties, event: 'sign_in_succeeded', method: 'device_code' },
      {
        ...business,
        ...parties,
        event: 'token_issued',
        grant: DEVICE_GRANT,
        scope: 'device:read',
      },
    ]);
  });

  test('records a failed sign-in without the typed text, and the user only if the account exists', async () => {
    const visitor = createPageVisitor();
    let page = await visitor.get(authorizationUrl(issuer));
    while (page.location !== undefined) {
      page = await visitor.get(page.location);
    }
    await visitor.submit(page, { username: alice.username, password: 'wrong password' });
    await visitor.submit(page, { username: typedByMistake, password: 'whatever it is' });
    const entries = await recorded(2);
    const failure = { event: 'sign_in_failed', outcome: 'failure', method: 'page' };
    expect(entries).toMatchObject([
      { ...failure, reason: 'password_wrong', clientId: web.clientId, userId },
      { ...failure, reason: 'user_unknown', clientId: web.clientId },
    ]);
    expect(entries[1]).not.toHaveProperty('userId');
  });

  test('records the sign-in and the token of a password grant, or its failure, each once', async () => {
    const grant = { grant_type: 'password', username: alice.username };
    const headers = { authorization: basic('password', 'passwordKey0123456789') };
    await requestToken(issuer, { ...grant, password: alice.password }, headers);
    await requestToken(issuer, { ...grant, password: 'wrong password' }, headers);
    const parties = { clientId: 'password', userId };
    expect(await recorded(3)).toEqual([
      {
        ...business,
        ...parties,
        event: 'sign_in_succeeded',
        method: 'password_grant',
      },
      {
        ...business,
        ...parties,
        event: 'token_issued',
        grant: 'password',
        scope: 'device:read',
      },
      {
        ...request,
        ...parties,
        event: 'sign_in_failed',
        severity: 'warning',
        outcome: 'failure',
        method: 'password_grant',
        reason: 'password_wrong',
      },
    ]);
  });

  test('records the lock of an account once, and each rejected attempt while it is locked', async () => {
    const headers = { authorization: basic('password', 'passwordKey0123456789') };
    const grant = { grant_type: 'password', username: 'locked', password: 'wrong password' };
    for (let i = 0; i < accountLimit.attempts + 1; i += 1) {
      await requestToken(issuer, grant, headers);
    }
    const counted = async () =>
      (await identity.audit.read({ since, limit: 100 })).find(({ count }) => count !== undefined);
    await until(async () => (await counted())?.count === accountLimit.attempts);
    const entries = await recorded(3);
    expect(entries.filter(({ event }) => event === 'account_locked')).toHaveLength(1);
    expect(entries.filter(({ event }) => event === 'sign_in_failed')).toMatchObject([
      { reason: 'user_unknown', count: accountLimit.attempts },
      { reason: 'account_locked' },
    ]);
    expect(entries).toHaveLength(3);
  });

  test('records the platform endpoint like /token', async () => {
    const call = (client_secret: string) =>
      fetch(`${issuer}/platform/oauth2/token`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({
          grant_type: 'client_credentials',
          client_id: web.clientId,
          client_secret,
        }),
      });
    await call(web.secureKey);
    await call('wrong');
    expect(await recorded(2)).toMatchObject([
      { event: 'token_issued', clientId: web.clientId, grant: 'client_credentials' },
      {
        event: 'client_authentication_failed',
        clientId: web.clientId,
        endpoint: 'platform-token',
      },
    ]);
  });

  test('records actions on the account page and sign-outs, each once', async () => {
    const visitor = createPageVisitor();
    const open = async (path: string) => {
      let page = await visitor.get(`${issuer}${path}`);
      while (page.location !== undefined) {
        page = await visitor.get(page.location);
      }
      return page;
    };
    const signIn = async () => {
      let page = await visitor.submit(await open('/account'), alice);
      while (page.location !== undefined) {
        page = await visitor.get(page.location);
      }
      return page;
    };
    const press = (page: Awaited<ReturnType<typeof open>>, action: string, fields = {}) => {
      const form = page.body.slice(
        page.body.search(new RegExp(`<form[^>]* action="[^"]*${action}"`)),
      );
      return visitor.submit({ ...page, body: form.slice(0, form.indexOf('</form>')) }, fields);
    };
    await signIn();
    await press(await open('/account/password'), '/account/password', {
      current: 'not my password',
      wanted: 'another password',
      repeated: 'another password',
    });
    await press(await open('/logout'), '/logout/confirm', { logout: 'yes' });
    await signIn();
    await press(await open('/account/sign-out-everywhere'), '/account/sign-out-everywhere');
    const entries = await recorded(5);
    expect(entries).toMatchObject([
      { event: 'sign_in_succeeded', userId, clientId: 'gatehouse:account' },
      { event: 'sign_in_failed', method: 'account_page', userId, reason: 'password_wrong' },
      { event: 'sign_out', userId, everywhere: false },
      { event: 'sign_in_succeeded', userId },
      { event: 'sign_out', userId, everywhere: true },
    ]);
    expect(entries).toHaveLength(5);
    // A sign-in in the same second as the sign-out would be revoked with it.
    await sleep(1100);
  });

  test('records failed client authentication once, and names only registered clients', async () => {
    const grant = { grant_type: 'client_credentials' };
    await requestToken(issuer, grant, { authorization: basic(web.clientId, 'wrong') });
    await requestToken(issuer, grant, {
      authorization: basic('disabled', 'disabledKey0123456789'),
    });
    await requestToken(issuer, grant, { authorization: basic(web.secureKey, web.clientId) });
    await requestToken(issuer, grant, { authorization: 'Basic ***' });
    await requestToken(issuer, { ...grant, client_id: web.clientId, client_secret: 'no' }, {});
    const revocation = await fetch(`${issuer}/revoke`, {
      method: 'POST',
      headers: { authorization: basic(web.clientId, 'wrong') },
      body: new URLSearchParams({ token: 'x' }),
    });
    expect(revocation.status).toBe(401);
    const failure = { event: 'client_authentication_failed', outcome: 'failure' };
    const wrong = { ...failure, reason: 'client_secret_wrong' };
    const entries = async () => (await recorded(5)).toSorted((a, b) => (a.at < b.at ? -1 : 1));
    await until(async () => (await entries()).some(({ count }) => count === 2));
    expect(await entries()).toMatchObject([
      { ...wrong, endpoint: 'token', clientId: web.clientId, severity: 'warning', count: 2 },
      { ...failure, reason: 'client_disabled', clientId: 'disabled', severity: 'warning' },
      { ...failure, reason: 'client_unknown', endpoint: 'token', severity: 'noise' },
      {
        ...failure,
        reason: 'client_authentication_malformed',
        endpoint: 'token',
        severity: 'noise',
      },
      { ...wrong, endpoint: 'revoke', clientId: web.clientId, severity: 'warning' },
    ]);
    for (const entry of (await entries()).slice(2, 4)) {
      expect(entry).not.toHaveProperty('clientId');
    }
  });

  test('records a revocation once, and no revocation of an unknown token', async () => {
    const { body } = await redeem(await newCode());
    const revoke = (token: string) =>
      fetch(`${issuer}/revoke`, {
        method: 'POST',
        headers: { authorization: basic(web.clientId, web.secureKey) },
        body: new URLSearchParams({ token }),
      });
    await revoke('unknown');
    await revoke(body.refresh_token);
    await revoke(body.refresh_token);
    const entries = await recorded(3);
    expect(entries.filter(({ event }) => event === 'token_revoked')).toEqual([
      {
        ...business,
        event: 'token_revoked',
        kind: 'RefreshToken',
        clientId: web.clientId,
        userId,
        tokenIds: [expect.stringMatching(/^[\w-]{16}$/)],
        grantId: expect.stringMatching(/^[\w-]{43}$/),
      },
    ]);
    expect(JSON.stringify(entries)).not.toContain(body.refresh_token);
  });

  test('records the address of the connection, not of an untrusted X-Forwarded-For', async () => {
    const headers = {
      authorization: basic(web.clientId, web.secureKey),
      'x-forwarded-for': '203.0.113.9',
    };
    await requestToken(issuer, { grant_type: 'client_credentials' }, headers);
    expect(await recorded(1)).toMatchObject([{ address: request.address }]);
  });

  test('records the creation of a signing key once, although two servers start at the same time', async () => {
    const made = await identity.audit.read({ event: 'signing_key_made', limit: 10 });
    expect(made).toMatchObject([
      { actor: 'authorization-server', purpose: 'authorization-server', kid: expect.any(String) },
    ]);
  });

  test('contains no secret, no token and no typed text', async () => {
    const { body } = await redeem(await newCode());
    await recorded(2);
    const entries = JSON.stringify(await identity.audit.read({ limit: 1000 }));
    for (const secret of [
      web.secureKey,
      alice.password,
      alice.username,
      typedByMistake,
      body.access_token,
      body.refresh_token,
    ]) {
      expect(entries).not.toContain(secret);
    }
    expect(await system.output()).not.toContain(typedByMistake);
  });
});
