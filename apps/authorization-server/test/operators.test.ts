/**
 * The API of the console at the authorization server: the console's client, the second factor that
 * nobody can skip, and the attacks of clients that are for another API.
 */
import { hash, randomUUID } from 'node:crypto';
import {
  type Client,
  CONSOLE_CLIENT_ID,
  consoleSecret,
  ONE_FACTOR,
  operatorScopes,
  TWO_FACTORS,
} from '@gatehouse/identity';
import {
  codeOfApp,
  createPageVisitor,
  integrationEngines,
  type PageVisitor,
  recoveryCodesOfPage,
  secretOfPage,
  type VisitedPage,
} from '@gatehouse/testing';
import { onEachEngine } from '@gatehouse/testing/suite';
import { afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import { advanceSeconds, startInProcess } from './in-process-server.ts';
import { alice, carol, full, implicitApp, tv, web } from './installation.ts';
import { as, type Fields, machineGrant, outcome, refreshing, type User } from './server.ts';

const CONSOLE = 'https://console.example';
const API = `${CONSOLE}/admin/v1`;
const [READ, WRITE] = operatorScopes;
const VERIFIER = 'a-verifier-that-only-the-console-can-compute';
const challenge = {
  code_challenge: hash('sha256', VERIFIER, 'base64url'),
  code_challenge_method: 'S256',
};

const servers = await onEachEngine(
  (engine) => startInProcess({ engine, consoleUrl: CONSOLE }),
  integrationEngines,
);

describe.each(servers)('the API of the console on $engine', ({ system: server }) => {
  const { identity, issuer, post, token, openSignIn, authorizationUrl } = server;
  const secureKey = consoleSecret(server.masterKey);
  const asConsole = as({ clientId: CONSOLE_CLIENT_ID, secureKey });
  const redirect_uri = `${CONSOLE}/callback`;

  const userIdOf = async ({ username }: User) =>
    (await identity.users.findByUsername(username))?.userId ?? '';
  const codeOf = (secret: string) => {
    // A code works once.
    advanceSeconds(90);
    return codeOfApp(secret, Date.now());
  };
  async function enroll(user: User): Promise<string> {
    const secret = identity.factors.newSecret();
    const added = { secret, isFirst: false };
    await identity.factors.enroll(await userIdOf(user), added, codeOf(secret));
    return secret;
  }
  async function follow(visitor: PageVisitor, from: VisitedPage): Promise<VisitedPage> {
    let page = from;
    for (let i = 0; i < 12 && page.location?.startsWith(issuer) === true; i += 1) {
      page = await visitor.get(page.location);
    }
    return page;
  }
  /** Pushes a request of the console. */
  const push = (parameters: Fields = {}, headers = asConsole) =>
    post(
      '/par',
      {
        ...{ response_type: 'code', client_id: CONSOLE_CLIENT_ID, redirect_uri, ...challenge },
        ...{ scope: `openid profile ${READ} ${WRITE}`, ...parameters },
      },
      headers,
    );
  /** The page after the request of the console. */
  async function openConsole(visitor: PageVisitor, parameters: Fields = {}) {
    const { request_uri = '' } = (await push(parameters)).body;
    const query = new URLSearchParams({ client_id: CONSOLE_CLIENT_ID, request_uri });
    return follow(visitor, await visitor.get(`${issuer}/authorize?${query}`));
  }
  const enter = async (visitor: PageVisitor, page: VisitedPage, fields: Fields) =>
    follow(visitor, await visitor.submit(page, fields));
  const enterCode = async (visitor: PageVisitor, page: VisitedPage, secret: string) =>
    enter(visitor, page, { code: codeOf(secret) });
  const parameterOf = ({ location = CONSOLE }: VisitedPage, name: string) =>
    new URL(location).searchParams.get(name);
  const redeem = (page: VisitedPage, more: Fields = {}) =>
    token(
      {
        ...{ grant_type: 'authorization_code', code: parameterOf(page, 'code') ?? '' },
        ...{ redirect_uri, code_verifier: VERIFIER, ...more },
      },
      asConsole,
    );
  /** The tokens of an operator with a factor. */
  async function signIn(visitor = createPageVisitor()) {
    const secret = await enroll(carol);
    const step = await enter(visitor, await openConsole(visitor), carol);
    return redeem(await enterCode(visitor, step, secret));
  }
  const verify = async (accessToken: string, scope = READ as typeof READ | typeof WRITE) => {
    const result = await identity.verifyOperatorToken(accessToken, scope);
    return 'refused' in result ? result.refused : 'accepted';
  };
  /** Gives the client these scopes in addition, as an operator does. */
  const allow = async (clientId: string, ...scopes: string[]) => {
    await identity.clients.update(clientId, (client: Client) => ({
      ...client,
      scopes: [...new Set([...client.scopes, ...scopes])],
    }));
    advanceSeconds(1);
  };

  beforeAll(async () => {
    await identity.settings.apply({ operators: { roles: ['admin'] } });
  });
  afterEach(async () => {
    await identity.factors.remove(await userIdOf(carol));
    await identity.settings.apply({ operators: { roles: ['admin'] } });
    advanceSeconds(1);
  });

  test('the console pushes its requests, with its secret and PKCE', async () => {
    const query = { client_id: CONSOLE_CLIENT_ID, redirect_uri, scope: READ, ...challenge };
    const direct = await server.authorize(query);
    expect(parameterOf(direct, 'error') ?? direct.body).toContain('invalid_request');
    expect(outcome(await push({ code_challenge: '', code_challenge_method: '' }))).toEqual([
      400,
      'invalid_request',
    ]);
    const elsewhere = await push({ redirect_uri: `${CONSOLE}/callback/` });
    expect(elsewhere.status).toBe(400);
    for (const secret of ['', 'x', `${secureKey}x`]) {
      const headers = as({ clientId: CONSOLE_CLIENT_ID, secureKey: secret });
      expect((await push({}, headers)).status).toBe(401);
    }
    expect((await push({ client_id: CONSOLE_CLIENT_ID }, {})).status).toBe(401);
    expect((await push()).status).toBe(201);
    expect(outcome(await token(machineGrant, asConsole))).toEqual([400, 'unauthorized_client']);
  });

  test('an operator enrolls a factor at the first sign-in, although no policy asks for one', async () => {
    const visitor = createPageVisitor();
    const form = await enter(visitor, await openConsole(visitor), carol);
    expect(form.url).toMatch(/\/enroll$/);
    expect(form.body).not.toContain('name="decline"');
    expect((await visitor.submit(form, { decline: 'yes' })).status).toBe(422);
    const done = await visitor.submit(form, { code: codeOf(secretOfPage(form)) });
    expect(recoveryCodesOfPage(done)).toHaveLength(10);
    // There is no page that asks for consent.
    const landed = await enter(visitor, done, {});
    expect(landed.location).toMatch(/^https:\/\/console\.example\/callback\?/);
    expect(outcome(await redeem(landed, { code_verifier: `${VERIFIER}x` }))).toEqual([
      400,
      'invalid_grant',
    ]);
    const again = await openConsole(visitor);
    const { status, body } = await redeem(again);
    expect([status, body.scope, body.expires_in]).toEqual([200, `${READ} ${WRITE}`, 900]);
    expect(decodeJwt(body.id_token)).toMatchObject({ acr: TWO_FACTORS, aud: CONSOLE_CLIENT_ID });
    expect(await identity.verifyOperatorToken(body.access_token, WRITE)).toMatchObject({
      ...{ clientId: CONSOLE_CLIENT_ID, userId: await userIdOf(carol), acr: TWO_FACTORS },
      authTime: expect.any(Number),
      sessionId: expect.any(String),
    });
    // The operator manages the factor where it is off for all others.
    expect((await follow(visitor, await visitor.get(`${issuer}/account`))).body).toContain(
      'href="/account/second-factor"',
    );
  });

  test('a token lives 15 minutes, and its refresh token 8 hours after the sign-in', async () => {
    const { body } = await signIn();
    advanceSeconds(899);
    expect(await verify(body.access_token)).toBe('accepted');
    advanceSeconds(2);
    expect(await verify(body.access_token)).toBe('token_expired');
    let refreshToken: string = body.refresh_token;
    for (let hours = 1; hours < 8; hours += 1) {
      advanceSeconds(3600 - 120);
      const renewed = await token(refreshing(refreshToken), asConsole);
      expect([renewed.status, renewed.body.scope]).toEqual([200, `${READ} ${WRITE}`]);
      expect(await verify(renewed.body.access_token, WRITE)).toBe('accepted');
      refreshToken = renewed.body.refresh_token;
    }
    advanceSeconds(3600);
    expect(outcome(await token(refreshing(refreshToken), asConsole))).toEqual([
      400,
      'invalid_grant',
    ]);
  });

  test('a session with one factor is not enough, and no request can ask for less', async () => {
    const visitor = createPageVisitor();
    await server.open(visitor, '/account', carol);
    await enroll(carol);
    const silent = await openConsole(visitor, { prompt: 'none' });
    expect(parameterOf(silent, 'error')).toBe('login_required');
    const form = await openConsole(visitor);
    expect(form.body).toContain('name="password"');
    expect((await enter(visitor, form, carol)).url).toMatch(/\/second-factor$/);

    const strong = createPageVisitor();
    expect((await signIn(strong)).status).toBe(200);
    const claims = JSON.stringify({ id_token: { acr: { essential: true, value: ONE_FACTOR } } });
    for (const weak of [{ acr_values: ONE_FACTOR }, { claims }]) {
      const rejected = await openConsole(strong, weak);
      expect(parameterOf(rejected, 'error')).toBe('unmet_authentication_requirements');
    }
    const both = await openConsole(strong, { acr_values: `${ONE_FACTOR} ${TWO_FACTORS}` });
    expect(await verify((await redeem(both)).body.access_token)).toBe('accepted');
  });

  test('a user without the role gets no token, and can sign in as another user', async () => {
    const visitor = createPageVisitor();
    await server.open(visitor, '/account', alice);
    const form = await openConsole(visitor);
    expect(form.body).toContain('name="password"');
    const rejected = await enter(visitor, form, alice);
    expect([rejected.location?.startsWith(CONSOLE), parameterOf(rejected, 'error')]).toEqual([
      true,
      'invalid_scope',
    ]);
    const silent = await openConsole(visitor, { prompt: 'none' });
    expect(parameterOf(silent, 'error')).toBe('interaction_required');
    const secret = await enroll(carol);
    const step = await enter(visitor, await openConsole(visitor), carol);
    const { body } = await redeem(await enterCode(visitor, step, secret));
    expect(await verify(body.access_token)).toBe('accepted');
  });

  test('a role that the user or the settings lose ends the access, also of a refresh', async () => {
    const { body } = await signIn();
    const userId = await userIdOf(carol);
    const { roles = [] } = (await identity.users.find(userId)) ?? {};
    await identity.users.update(userId, (user) => ({ ...user, roles: ['plant 7'] }));
    advanceSeconds(1);
    expect(await verify(body.access_token)).toBe('role_missing');
    const renewed = await token(refreshing(body.refresh_token), asConsole);
    expect(renewed.body.scope ?? '').not.toContain('operator');
    await identity.users.update(userId, (user) => ({ ...user, roles }));
    await identity.settings.apply({ operators: { roles: ['another'] } });
    advanceSeconds(1);
    expect(await verify(body.access_token)).toBe('role_missing');
    expect((await server.introspect(body.access_token)).scope).toBeUndefined();
    await identity.settings.apply({ operators: { roles: ['admin'] } });
    advanceSeconds(1);
    expect(await verify(body.access_token)).toBe('accepted');
  });

  test('a client of the device API gets no token for it, whatever it asks for', async () => {
    const resource = API;
    const scope = `openid device:read ${READ} ${WRITE}`;
    const invalid = [400, 'invalid_target'];
    for (const each of [API, `${API}/`, API.replace('https:', 'HTTPS:')]) {
      const landed = await server.authorize({ scope, resource: each });
      expect([each, parameterOf(landed, 'error')]).toEqual([each, 'invalid_target']);
      const machine = await token({ ...machineGrant, resource: each }, as(web));
      expect([each, ...outcome(machine)]).toEqual([each, ...invalid]);
    }
    const pushed = await post('/par', {
      ...{ response_type: 'code', client_id: web.clientId, redirect_uri: web.redirectUri },
      ...{ resource, scope },
    });
    expect(outcome(pushed)).toEqual(invalid);
    const device = await post('/device/auth', { client_id: tv.clientId, resource }, {});
    expect(outcome(device)).toEqual(invalid);
    const byPassword = await token({ grant_type: 'password', ...carol, resource }, as(full));
    expect(outcome(byPassword)).toEqual(invalid);
    const platform = await server.platform({ ...machineGrant, resource }, as(web));
    expect(platform.status).toBe(400);

    // Without the resource, the scope is ignored.
    const { body } = await token({ ...machineGrant, scope }, as(web));
    expect([body.scope, await verify(body.access_token)]).toEqual([
      'device:read',
      'token_for_other_resource',
    ]);
    const code = await server.newCode({ scope: 'openid device:read' }, carol);
    expect(outcome(await server.redeem(code, { resource }))).toEqual(invalid);
    const ofUser = await server.tokensFor({ scope: 'openid device:read' }, carol);
    expect(await verify(ofUser.access_token)).toBe('token_for_other_resource');
    const renewed = await token({ ...refreshing(ofUser.refresh_token), resource });
    expect(outcome(renewed)).toEqual(invalid);
  });

  test('a client that also has its scopes cannot skip the factor', async () => {
    await allow(web.clientId, READ);
    const visitor = createPageVisitor();
    const scope = `openid device:read ${READ}`;
    await server.land({ scope: 'openid device:read' }, carol, visitor);
    // The code is for the device API: the user signed in with one factor.
    const code = await server.newCode({ scope }, carol, visitor);
    expect(outcome(await server.redeem(code, { resource: API }))).toEqual([400, 'invalid_target']);
    const query = `${authorizationUrl({ scope, resource: API })}&resource=${issuer}`;
    await identity.settings.addDeviceApi(issuer);
    const several = await follow(visitor, await visitor.get(query));
    expect(several.body).toContain('name="password"');
    expect((await enter(visitor, several, carol)).url).toMatch(/\/enroll$/);

    const secret = await enroll(carol);
    const step = await enter(visitor, await openSignIn(visitor, { scope, resource: API }), carol);
    const consent = await enterCode(visitor, step, secret);
    expect(consent.body).toContain('See all users, applications, settings and logs');
    const landed = await enter(visitor, consent, { decision: 'allow' });
    const tokens = await server.redeem(parameterOf(landed, 'code') ?? '', { resource: API });
    expect([tokens.body.scope, tokens.body.expires_in]).toEqual([READ, 900]);
    expect(await verify(tokens.body.access_token)).toBe('accepted');
    expect(await verify(tokens.body.access_token, WRITE)).toBe('access_denied');

    // A later sign-in with one factor does not inherit the strength of this one.
    const again = { scope, prompt: 'login', resource: issuer };
    const weak = await enter(visitor, await openSignIn(visitor, again), carol);
    const allowed = weak.body.includes('name="decision"')
      ? await enter(visitor, weak, { decision: 'allow' })
      : weak;
    const other = await server.redeem(parameterOf(allowed, 'code') ?? '', { resource: API });
    expect(outcome(other)).toEqual([400, 'invalid_target']);
  });

  test('a device that may use it needs the factor as well', async () => {
    await allow(tv.clientId, READ);
    const visitor = createPageVisitor();
    await server.open(visitor, '/account', carol);
    const device = await server.startDevice({ resource: API });
    const form = await follow(visitor, await server.confirmDevice(device, visitor));
    expect((await enter(visitor, form, carol)).url).toMatch(/\/enroll$/);
    expect((await server.poll(device)).body.error).toBe('authorization_pending');
  });

  test('neither a password nor an address carries it', async () => {
    await allow(full.clientId, READ);
    await allow(implicitApp.clientId, READ);
    const byPassword = await token({ grant_type: 'password', ...carol, resource: API }, as(full));
    expect(outcome(byPassword)).toEqual([400, 'invalid_target']);
    const { clientId: client_id, redirectUri: redirect } = implicitApp;
    const implicit = { client_id, redirect_uri: redirect, resource: API, nonce: 'n' };
    for (const response_type of ['token', 'id_token token']) {
      const landed = await server.authorize({
        ...{ ...implicit, response_type, scope: `openid ${READ}` },
      });
      expect(landed.location).toContain('error=invalid_target');
    }
  });

  test('a machine gets the scopes of its registration, and no more', async () => {
    const machine = { clientId: `machine-${randomUUID()}`, secureKey: 'machineKey0123456789abc' };
    const { secureKey: key, ...registered } = {
      ...((await identity.clients.find(full.clientId)) as Client),
      ...machine,
      ...{ grantTypes: ['client_credentials' as const], keys: [], defaultResource: undefined },
    };
    await identity.clients.save({ ...registered, scopes: ['openid', READ] }, key);
    const own = await token({ ...machineGrant, scope: `openid ${READ} ${WRITE}` }, as(machine));
    expect([own.status, own.body.scope, own.body.expires_in]).toEqual([200, READ, 900]);
    expect(await verify(own.body.access_token)).toBe('accepted');
    expect(await verify(own.body.access_token, WRITE)).toBe('access_denied');
    for (const scope of [WRITE, 'openid']) {
      const { body } = await token({ ...machineGrant, scope }, as(machine));
      expect([scope, body.error]).toEqual([scope, 'invalid_scope']);
    }
    const issued = await identity.xAccessTokens.issue(machine, 60);
    expect(await verify(issued)).toBe('token_unknown');
    expect((await server.introspect(issued)).scope).toBeUndefined();
  });

  test('a client that was registered dynamically gets no token for it', async () => {
    const allowed = { orgId: 'org-1', count: 1, validFor: 1, redirectHosts: ['new.example'] };
    const issued = await identity.registrationTokens.issue({ ...allowed, scopes: ['device:read'] });
    const metadata = { redirect_uris: ['https://new.example/cb'], scope: `device:read ${READ}` };
    const { body } = await post('/register', JSON.stringify(metadata), {
      authorization: `Bearer ${issued.token}`,
      'content-type': 'application/json',
    });
    expect(body.scope).toBe('device:read');
    await expect(allow(body.client_id, READ)).rejects.toThrow('cannot have the scope');
    const [redirect] = metadata.redirect_uris;
    const landed = await server.authorize({
      ...{ client_id: body.client_id, redirect_uri: redirect ?? '', resource: API },
    });
    expect(parameterOf(landed, 'error')).toBe('invalid_scope');
  });

  test('the metadata do not announce its scopes', async () => {
    const { body } = await server.get('/.well-known/openid-configuration');
    expect(body).not.toContain('operator:');
  });
});
