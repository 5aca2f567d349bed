import { knownScopes } from '@gatehouse/identity';
import { basic } from '@gatehouse/testing';

export { basic };

/** The clients and the user of the bootstrap file. */
export const web = {
  clientId: 'web',
  secureKey: 'webKey0123456789abcdef',
  redirectUri: 'https://app.example/callback',
} as const;

/** An id and a secret that HTTP Basic carries only in form encoding (RFC 6749 §2.3.1). */
export const odd = { clientId: 'web:1', secureKey: 's+e/c r%t&=0123456789' } as const;

/** A browser application. It has no secret and uses PKCE. */
export const browserApp = {
  clientId: 'browser-app',
  origin: 'https://browser.example',
  redirectUri: 'https://browser.example/callback',
} as const;

/** A browser application that gets its token in the fragment (implicit flow). */
export const implicitApp = {
  clientId: 'implicit-app',
  redirectUri: 'https://implicit.example/callback',
} as const;

/** A third-party API that introspects the tokens that it receives. */
export const resourceServer = {
  clientId: 'resources',
  secureKey: 'resourceKey0123456789',
} as const;

export const alice = { username: 'alice', password: 'correct horse battery' } as const;

export const bootstrap = {
  organizations: [{ id: 'org-1', name: 'Example' }],
  clients: [
    {
      clientId: web.clientId,
      secureKey: web.secureKey,
      name: 'Example web application',
      orgId: 'org-1',
      grantTypes: ['authorization_code', 'client_credentials', 'refresh_token'],
      redirectUris: [web.redirectUri],
      scopes: knownScopes,
    },
    {
      clientId: odd.clientId,
      secureKey: odd.secureKey,
      name: 'Odd <b>name</b>',
      orgId: 'org-1',
      grantTypes: ['client_credentials', 'authorization_code'],
      redirectUris: ['https://odd.example/one', 'https://odd.example/two'],
      scopes: ['device:read'],
    },
    {
      clientId: browserApp.clientId,
      name: 'Browser application',
      orgId: 'org-1',
      public: true,
      grantTypes: ['authorization_code', 'refresh_token'],
      redirectUris: [browserApp.redirectUri],
      corsOrigins: [browserApp.origin],
      scopes: knownScopes,
    },
    {
      clientId: implicitApp.clientId,
      name: 'Implicit application',
      orgId: 'org-1',
      public: true,
      grantTypes: ['implicit'],
      redirectUris: [implicitApp.redirectUri],
      scopes: ['device:read', 'device:write'],
    },
    {
      clientId: 'scopeless',
      secureKey: 'scopelessKey0123456789',
      name: 'First party without scopes',
      orgId: 'org-1',
      firstParty: true,
      grantTypes: ['authorization_code'],
      redirectUris: ['https://scopeless.example/callback'],
      scopes: [],
    },
    {
      clientId: resourceServer.clientId,
      secureKey: resourceServer.secureKey,
      name: 'Resource server',
      orgId: 'org-1',
      resourceServer: true,
      scopes: [],
    },
    {
      clientId: 'disabled',
      secureKey: 'disabledKey0123456789',
      name: 'Disabled',
      orgId: 'org-1',
      enabled: false,
      scopes: ['device:read'],
    },
  ],
  users: [{ ...alice, name: 'Alice Example', orgId: 'org-1' }],
};

export function authorizationUrl(
  issuer: string,
  parameters: Readonly<Record<string, string>> = {},
): string {
  const query = new URLSearchParams({
    response_type: 'code',
    client_id: web.clientId,
    redirect_uri: web.redirectUri,
    ...parameters,
  });
  return `${issuer}/authorize?${query}`;
}

/** Pushes a request of the client `web`, and resolves to its `request_uri` (RFC 9126). */
export async function pushRequest(issuer: string, parameters: Record<string, string>) {
  const reply = await fetch(`${issuer}/par`, {
    method: 'POST',
    headers: { authorization: basic(web.clientId, web.secureKey) },
    body: new URLSearchParams({
      response_type: 'code',
      client_id: web.clientId,
      redirect_uri: web.redirectUri,
      ...parameters,
    }),
  });
  return ((await reply.json()) as { request_uri: string }).request_uri;
}

export interface TokenReply {
  readonly status: number;
  readonly headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: a reply under test may contain anything
  readonly body: any;
}

export async function requestToken(
  server: string,
  parameters: Readonly<Record<string, string>>,
  headers: Readonly<Record<string, string>> = {
    authorization: basic(web.clientId, web.secureKey),
  },
): Promise<TokenReply> {
  const reply = await fetch(`${server}/token`, {
    method: 'POST',
    headers,
    body: new URLSearchParams(parameters),
  });
  return { status: reply.status, headers: reply.headers, body: await reply.json() };
}
