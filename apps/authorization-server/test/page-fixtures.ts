import {
  authorizeAsUser,
  createPageVisitor,
  type PageVisitor,
  type VisitedPage,
} from '@gatehouse/testing';
import {
  alice,
  authorizationUrl,
  bootstrap as base,
  basic,
  requestToken,
  web,
} from './fixtures.ts';

export const DEVICE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code';

export const bob = { username: 'bob', password: 'bob has a long password' } as const;

/** A device without a keyboard. It has no secret and no redirect URI. */
export const tv = { clientId: 'pages-tv', name: 'Living room TV' } as const;

/** A second device. */
export const radio = { clientId: 'pages-radio', name: 'Kitchen radio' } as const;

/** A device of the operator. Its users see no consent page. */
export const kiosk = { clientId: 'pages-kiosk', name: 'Kiosk' } as const;

/** Introspects every token. */
const resourceServer = {
  clientId: 'pages-resource-server',
  secureKey: 'resourceServerKey0123',
} as const;

/** For response types code and token, with the two redirect URIs of the RU cases. */
export const rp = {
  clientId: 'pages-rp',
  secureKey: 'rpKey0123456789abcdef',
  redirectUris: ['https://rp.example/cb?x=1', 'https://rp.example/cb2'],
  postLogoutRedirectUris: ['https://rp.example/signed-out'],
} as const;

export const implicitApp = {
  clientId: 'pages-implicit',
  secureKey: 'implicitKey0123456789',
  redirectUri: 'https://implicit.example/callback',
} as const;

/** The name contains a character that reverses the direction of the text after it. */
export const deceiver = { clientId: 'pages-deceiver', name: 'Bank\u202Egnp.exe <i>x</i>' } as const;

const ordinary = { orgId: 'org-1', scopes: ['device:read', 'device:log', 'openid', 'profile'] };

export const bootstrap = {
  ...base,
  clients: [
    ...base.clients.map((client) =>
      client.clientId === web.clientId
        ? { ...client, postLogoutRedirectUris: ['https://app.example/signed-out'] }
        : client,
    ),
    {
      ...ordinary,
      ...tv,
      public: true,
      grantTypes: [DEVICE_GRANT, 'refresh_token'],
      scopes: ['device:read', 'profile'],
    },
    { ...ordinary, ...radio, public: true, grantTypes: [DEVICE_GRANT], scopes: ['device:read'] },
    {
      ...ordinary,
      ...kiosk,
      public: true,
      firstParty: true,
      grantTypes: [DEVICE_GRANT],
      scopes: ['device:read', 'profile'],
    },
    { ...ordinary, ...resourceServer, name: 'Devices', resourceServer: true },
    {
      ...ordinary,
      ...rp,
      name: 'Relying party',
      grantTypes: ['authorization_code', 'implicit'],
    },
    {
      ...ordinary,
      clientId: implicitApp.clientId,
      secureKey: implicitApp.secureKey,
      name: 'Implicit application',
      grantTypes: ['implicit'],
      redirectUris: [implicitApp.redirectUri],
    },
    {
      ...ordinary,
      ...deceiver,
      secureKey: 'deceiverKey0123456789',
      grantTypes: ['authorization_code'],
      redirectUris: ['https://deceiver.example/callback'],
    },
  ],
  users: [...base.users, { ...bob, name: 'Bob <Example>', orgId: 'org-1' }],
};

/** Submits a username and password that are rejected, and returns the page that asks again. */
export async function failToSignIn(
  visitor: PageVisitor,
  page: VisitedPage,
  typed: Readonly<Record<string, string>>,
): Promise<VisitedPage> {
  const reply = await visitor.submit(page, typed);
  if (reply.status !== 303 || reply.location?.includes('/sign-in/') !== true) {
    throw new Error(`The sign-in did not fail: ${reply.status} ${reply.location}`);
  }
  const again = await visitor.get(reply.location);
  if (again.status !== 200 || !again.body.includes('do not match an account')) {
    throw new Error(`The page does not name the failure: ${again.status} ${again.body}`);
  }
  return again;
}

export function implicitUrl(
  issuer: string,
  parameters: Readonly<Record<string, string>> = {},
): string {
  return authorizationUrl(issuer, {
    response_type: 'token',
    client_id: implicitApp.clientId,
    redirect_uri: implicitApp.redirectUri,
    ...parameters,
  });
}

/** Introspects a token as the resource server. An invalid token is `active: false`. */
export async function introspect(issuer: string, token: string): Promise<{ active: boolean }> {
  const { clientId, secureKey } = resourceServer;
  const reply = await fetch(`${issuer}/introspect`, {
    method: 'POST',
    headers: { authorization: basic(clientId, secureKey) },
    body: new URLSearchParams({ token }),
  });
  return (await reply.json()) as { active: boolean };
}

export interface Tokens {
  readonly access_token: string;
  readonly refresh_token: string;
}

/**
 * Gets the tokens of the web application for a user, and signs the user in if this browser has no
 * session yet.
 */
export async function tokensFor(
  issuer: string,
  visitor: PageVisitor,
  user: { readonly username: string; readonly password: string } = alice,
): Promise<Tokens> {
  const url = authorizationUrl(issuer, { scope: 'device:read openid' });
  const landing = await authorizeAsUser(url, user, visitor);
  const { body } = await requestToken(issuer, {
    grant_type: 'authorization_code',
    code: landing.searchParams.get('code') ?? '',
    redirect_uri: web.redirectUri,
    client_id: web.clientId,
  });
  return body;
}

/** Follows the redirects, and signs in if a page asks for it. */
export async function openPage(
  visitor: PageVisitor,
  url: string,
  user: { readonly username: string; readonly password: string } = alice,
): Promise<VisitedPage> {
  let page = await visitor.get(url);
  for (let step = 0; step < 10; step += 1) {
    if (page.location !== undefined) {
      page = await visitor.get(page.location);
    } else if (page.body.includes('/credentials"')) {
      page = await visitor.submit(page, user);
    } else {
      return page;
    }
  }
  throw new Error(`The redirects do not end: ${page.url}`);
}

/** Reduces a page to the form with this action, because `submit` uses the first form. */
export function withForm(page: VisitedPage, action: string, containing = ''): VisitedPage {
  const forms = page.body.match(/<form[\s\S]*?<\/form>/g) ?? [];
  const body = forms.find(
    (form) => form.includes(`action="${action}"`) && form.includes(containing),
  );
  if (body === undefined) {
    throw new Error(`There is no form for ${action} on ${page.url}:\n${page.body}`);
  }
  return { ...page, body };
}

export interface DeviceAuthorization {
  readonly device_code: string;
  readonly user_code: string;
  readonly verification_uri: string;
  readonly verification_uri_complete: string;
  readonly expires_in: number;
  readonly interval: number;
}

export async function startDevice(
  issuer: string,
  parameters: Readonly<Record<string, string>> = {},
): Promise<DeviceAuthorization> {
  const reply = await fetch(`${issuer}/device/auth`, {
    method: 'POST',
    body: new URLSearchParams({ client_id: tv.clientId, ...parameters }),
  });
  return (await reply.json()) as DeviceAuthorization;
}

export async function pollDevice(
  server: string,
  device: DeviceAuthorization,
  { clientId }: { readonly clientId: string } = tv,
) {
  return requestToken(
    server,
    { grant_type: DEVICE_GRANT, device_code: device.device_code, client_id: clientId },
    {},
  );
}

/** Enters the code of a device, confirms it, signs in if asked, and allows or denies access. */
export async function connectDevice(
  device: Pick<DeviceAuthorization, 'user_code' | 'verification_uri'>,
  options: {
    readonly visitor?: PageVisitor;
    readonly decision?: 'allow' | 'deny';
    readonly user?: { readonly username: string; readonly password: string };
  } = {},
): Promise<VisitedPage> {
  const { visitor = createPageVisitor(), decision = 'allow', user = alice } = options;
  const form = await visitor.get(device.verification_uri);
  const question = await visitor.submit(form, { user_code: device.user_code });
  let page = await visitor.submit(question, { confirm: 'yes' });
  for (let step = 0; step < 8; step += 1) {
    if (page.location !== undefined) {
      page = await visitor.get(page.location);
    } else if (page.body.includes('/credentials"')) {
      page = await visitor.submit(page, user);
    } else if (page.body.includes('name="decision"')) {
      page = await visitor.submit(page, { decision });
    } else {
      return page;
    }
  }
  throw new Error(`The device sign-in does not end: ${page.url}`);
}
