import { createStore, type Store } from '@gatehouse/store';
import type { Constellation, ConstellationOptions } from '@gatehouse/testing';
import { authorizeAsUser, type StoreEngineName, startConstellation } from '@gatehouse/testing';
import { type OnEngine, onEachEngine } from '@gatehouse/testing/suite';
import { afterAll } from '@jest/globals';
import {
  alice,
  authorizationUrl,
  bootstrap,
  requestToken,
  type TokenReply,
  web,
} from './fixtures.ts';

/** A client with every grant, one for users of its own organization only, and a machine. */
export const full = { clientId: 'full', secureKey: 'fullKey0123456789abcd' } as const;
export const own = { clientId: 'own', secureKey: 'ownKey0123456789abcde' } as const;
/** A device with a secret. */
export const box = { clientId: 'box', secureKey: 'boxKey0123456789abcd' } as const;
export const other = { clientId: 'other', secureKey: 'otherKey0123456789abc' } as const;

export const bob = { username: 'bob', password: 'a password of bob' } as const;
export const blocked = { username: 'blocked', password: 'a password of blocked' } as const;

const grantTypes = ['authorization_code', 'client_credentials', 'refresh_token', 'password'];
const scopes = ['device:read', 'device:write', 'device:log', 'openid', 'profile'];

export const grantsBootstrap = {
  organizations: [...bootstrap.organizations, { id: 'org-2', name: 'Another' }],
  clients: [
    ...bootstrap.clients,
    { ...full, name: 'Full', orgId: 'org-1', grantTypes, redirectUris: [web.redirectUri], scopes },
    {
      ...own,
      name: 'Own',
      orgId: 'org-2',
      grantTypes: ['password'],
      scopes: ['device:read'],
      ownOrganizationOnly: true,
    },
    {
      ...other,
      name: 'Other',
      orgId: 'org-1',
      grantTypes: ['client_credentials', 'refresh_token'],
      scopes: ['device:read', 'device:write'],
    },
    {
      clientId: 'no-refresh',
      secureKey: 'noRefreshKey012345678',
      name: 'Without refresh tokens',
      orgId: 'org-1',
      grantTypes: ['authorization_code'],
      redirectUris: [web.redirectUri],
      scopes: [...scopes, 'offline_access'],
    },
    {
      ...box,
      name: 'Box',
      orgId: 'org-1',
      grantTypes: ['urn:ietf:params:oauth:grant-type:device_code'],
      scopes: ['device:read'],
    },
    {
      clientId: 'tv',
      name: 'Television',
      orgId: 'org-1',
      public: true,
      grantTypes: ['urn:ietf:params:oauth:grant-type:device_code'],
      scopes: ['device:read', 'openid'],
    },
    {
      clientId: 'app',
      name: 'Public application',
      orgId: 'org-1',
      public: true,
      grantTypes: ['password', 'authorization_code'],
      redirectUris: ['https://public.example/callback'],
      scopes: ['device:read'],
    },
  ],
  users: [
    ...bootstrap.users,
    { ...bob, name: 'Bob', orgId: 'org-2' },
    { ...blocked, name: 'Blocked', orgId: 'org-1', enabled: false },
  ],
};

/** Authorization servers that share one store, and the store itself. */
export interface GrantsSystem extends Constellation {
  readonly first: string;
  readonly second: string;
  readonly store: Store;
}

/** Starts authorization servers for the tests of the file that awaits them. */
export async function startGrantsSystem(
  engine: StoreEngineName,
  environment: ConstellationOptions['environment'] = {},
  servers: 1 | 2 = 2,
): Promise<GrantsSystem> {
  const system = await startConstellation({
    engine,
    bootstrap: grantsBootstrap,
    apps: Array<'authorization-server'>(servers).fill('authorization-server'),
    environment,
  });
  const [first = '', second = first] = system.authorizationServerUrls;
  const store = createStore(system.storeUrl);
  afterAll(async () => {
    await store.close();
    await system.stop();
  });
  return { ...system, first, second, store };
}

/** Starts such a system on each store engine. */
export function startGrantsSystems(
  environment: ConstellationOptions['environment'] = {},
  servers: 1 | 2 = 2,
): Promise<readonly OnEngine<GrantsSystem>[]> {
  return onEachEngine((engine) => startGrantsSystem(engine, environment, servers));
}

/** Redeems a code that alice allowed. */
export async function signInAsAlice(issuer: string, scope?: string): Promise<TokenReply['body']> {
  const url = authorizationUrl(issuer, scope === undefined ? {} : { scope });
  const landing = await authorizeAsUser(url, alice);
  const reply = await requestToken(issuer, {
    grant_type: 'authorization_code',
    code: landing.searchParams.get('code') ?? '',
    redirect_uri: web.redirectUri,
  });
  return reply.body;
}

export const refreshing = (refreshToken: string, scope?: string) => ({
  grant_type: 'refresh_token',
  refresh_token: refreshToken,
  ...(scope !== undefined && { scope }),
});

/** The status and the OAuth error, which is undefined for a success. */
export const outcome = ({ status, body }: TokenReply) => [status, body.error];

/** Introspects the token as the client of the authorization. */
export async function isActive(server: string, token: string, authorization: string) {
  const reply = await fetch(`${server}/introspect`, {
    method: 'POST',
    headers: { authorization },
    body: new URLSearchParams({ token }),
  });
  const { active } = (await reply.json()) as { active: boolean };
  return active;
}

/** Calls the platform endpoint. An object is sent as JSON, a text unchanged. */
export async function requestPlatformToken(
  server: string,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): Promise<TokenReply> {
  const reply = await fetch(`${server}/platform/oauth2/token`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
  return { status: reply.status, headers: reply.headers, body: await reply.json() };
}
