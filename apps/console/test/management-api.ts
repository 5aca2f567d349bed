/** An authorization server and a console with the tokens of operators, machines and strangers. */
import { randomUUID } from 'node:crypto';
import {
  CONSOLE_CLIENT_ID,
  consoleSecret,
  credentialKey,
  openIdentity,
  operatorScopes,
  TWO_FACTORS,
} from '@gatehouse/identity';
import { createStore } from '@gatehouse/store';
import {
  codeOfApp,
  createPageVisitor,
  integrationEngines,
  newPkce,
  postAs,
  type StoreEngineName,
} from '@gatehouse/testing';
import { onEachEngine, startSystem } from '@gatehouse/testing/suite';
import { afterAll } from '@jest/globals';
import { follow } from './installation.ts';

const common = { orgId: 'org-1', grantTypes: ['client_credentials'] };
const machine = (clientId: string, scopes: readonly string[], more: object = {}) => ({
  ...{ clientId, name: clientId, secureKey: `${clientId}Key0123456789abcdef`, scopes },
  ...{ ...common, ...more },
});

export const writer = machine('writer', operatorScopes);
export const reader = machine('reader', ['operator:read']);
export const device = machine('device', ['device:read']);

export const olga = { username: 'olga', password: 'correct horse battery' };
const profile = { name: 'Person', orgId: 'org-1' };

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: a reply under test may contain anything
  readonly body: any;
}

export type Sent = Readonly<{
  method?: string;
  /** Undefined: that of the writer. */
  token?: string | undefined;
  headers?: Readonly<Record<string, string>>;
  /** Sent as JSON. */
  json?: unknown;
  /** Sent as it is. */
  body?: string;
}>;

export type ManagementApi = Awaited<ReturnType<typeof startManagementApi>>;

export const startManagementApis = () => onEachEngine(startManagementApi, integrationEngines);

export async function startManagementApi(engine: StoreEngineName) {
  const system = await startSystem({
    engine,
    apps: ['authorization-server', 'console'],
    bootstrap: {
      organizations: [{ id: 'org-1', name: 'One' }],
      clients: [writer, reader, device],
      users: [
        { ...olga, ...profile, roles: ['operations'] },
        { ...olga, ...profile, username: 'sam', roles: ['user'] },
      ],
      operators: { roles: ['operations'] },
    },
  });
  const { consoleUrl, authorizationServerUrl: issuer, masterKey } = system;
  const store = createStore(system.storeUrl);
  afterAll(() => store.close());
  const identity = openIdentity({ store, masterKey, consoleUrl });
  const resource = `${consoleUrl}/admin/v1`;

  /** A token that the authorization server issues to a machine. */
  async function tokenOf({ clientId, secureKey }: typeof writer): Promise<string> {
    const form = { grant_type: 'client_credentials' };
    const reply = await postAs(`${issuer}/token`, { clientId, secureKey }, form);
    return String(Reflect.get((await reply.json()) as object, 'access_token'));
  }

  const userId = async (username: string) =>
    (await identity.users.findByUsername(username))?.userId ?? '';

  /** A token of a user, as the authorization server stores it, with these differences. */
  async function storedToken(username: string, changed: object = {}): Promise<string> {
    const token = randomUUID();
    const now = Math.floor(Date.now() / 1000);
    const record = {
      ...{ kind: 'AccessToken', clientId: CONSOLE_CLIENT_ID, accountId: await userId(username) },
      ...{ aud: resource, scope: operatorScopes.join(' '), iat: now - 10, exp: now + 600 },
      ...{ acr: TWO_FACTORS, authTime: now - 60, sessionUid: 'uid', grantId: randomUUID() },
      ...changed,
    };
    const key = credentialKey('AccessToken', identity.credentialHash(token));
    await store.set(key, JSON.stringify(record));
    return token;
  }

  const tokens = { writer: await tokenOf(writer), reader: await tokenOf(reader) };

  /** Sends a request to a path below /admin/v1, or to an address. */
  async function send(path: string, sent: Sent = {}): Promise<Answer> {
    const {
      method = 'GET',
      json,
      headers,
      body = json === undefined ? null : JSON.stringify(json),
    } = sent;
    const token = 'token' in sent ? sent.token : tokens.writer;
    const reply = await fetch(path.startsWith('/') ? resource + path : path, {
      ...{ method, body, redirect: 'manual' },
      headers: {
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(body === null ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
    });
    const text = await reply.text();
    const isJson = /json/.test(reply.headers.get('content-type') ?? '');
    return { status: reply.status, headers: reply.headers, body: isJson ? JSON.parse(text) : text };
  }

  return {
    ...{ system, identity, store, resource, consoleUrl, issuer, tokens },
    ...{ tokenOf, userId, storedToken, send },
    post: (path: string, json: unknown, sent: Sent = {}) =>
      send(path, { method: 'POST', json, ...sent }),
    patch: (path: string, json: unknown, sent: Sent = {}) =>
      send(path, { method: 'PATCH', json, ...sent }),
    signIn: () => signInAsOperator({ identity, issuer, consoleUrl, masterKey }),
  };
}

/** Signs in with an authenticator app. @returns the token of the console, and all cookies of the browser */
async function signInAsOperator({
  identity,
  issuer,
  consoleUrl,
  masterKey,
}: {
  readonly identity: ReturnType<typeof openIdentity>;
  readonly issuer: string;
  readonly consoleUrl: string;
  readonly masterKey: Buffer;
}) {
  const user = await identity.users.findByUsername(olga.username);
  const secret = identity.factors.newSecret();
  const earlier = Date.now() - 30_000;
  const added = { secret, isFirst: false };
  await identity.factors.enroll(user?.userId ?? '', added, codeOfApp(secret, earlier));
  const visitor = createPageVisitor();
  const client = { clientId: CONSOLE_CLIENT_ID, secureKey: consoleSecret(masterKey) };
  const redirect_uri = `${consoleUrl}/callback`;
  const { verifier, pkce } = newPkce();
  const pushed = await postAs(`${issuer}/par`, client, {
    ...{ response_type: 'code', client_id: client.clientId, redirect_uri, state: 'api' },
    ...{ scope: `openid ${operatorScopes.join(' ')}`, ...pkce },
  });
  const { request_uri } = (await pushed.json()) as { readonly request_uri: string };
  const query = new URLSearchParams({ client_id: client.clientId, request_uri });
  const form = await follow(visitor, await visitor.get(`${issuer}/authorize?${query}`));
  const step = await follow(visitor, await visitor.submit(form, olga));
  const landed = await follow(
    visitor,
    await visitor.submit(step, { code: codeOfApp(secret) }),
    'state=api',
  );
  const code = new URL(landed.location ?? consoleUrl).searchParams.get('code') ?? '';
  const reply = await postAs(`${issuer}/token`, client, {
    ...{ grant_type: 'authorization_code', code, redirect_uri, code_verifier: verifier },
  });
  const { access_token: token } = (await reply.json()) as { readonly access_token: string };
  await follow(visitor, await visitor.get(`${consoleUrl}/organizations`));
  const cookie = [...visitor.cookies].map(([key, value]) => `${key.split('|')[0]}=${value}`);
  return { token, cookie: cookie.join('; ') };
}
