/** The organizations, clients and users of all tests. */
import { knownScopes } from '@gatehouse/identity';

export const DEVICE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code';

export const web = {
  clientId: 'web',
  secureKey: 'webKey0123456789abcdef',
  redirectUri: 'https://app.example/callback',
  signedOutUri: 'https://app.example/signed-out',
} as const;

/** An id and a secret that HTTP Basic carries only in form encoding (RFC 6749 §2.3.1). */
export const odd = { clientId: 'web:1', secureKey: 's+e/c r%t&=0123456789' } as const;

/** A browser application. It has no secret and uses PKCE. */
export const browserApp = {
  clientId: 'browser-app',
  origin: 'https://browser.example',
  redirectUri: 'https://browser.example/callback',
} as const;

/** A browser application that gets its token in the fragment. */
export const implicitApp = {
  clientId: 'implicit-app',
  redirectUri: 'https://implicit.example/callback',
} as const;

/** An application for response types code and token, with two redirect URIs. */
export const rp = {
  clientId: 'rp',
  secureKey: 'rpKey0123456789abcdef',
  redirectUris: ['https://rp.example/cb?x=1', 'https://rp.example/cb2'],
  signedOutUri: 'https://rp.example/signed-out',
} as const;

/** An application of the operator, whose users see no consent page. */
export const firstParty = {
  clientId: 'first-party',
  secureKey: 'firstPartyKey01234567',
  redirectUri: 'https://first.example/callback',
} as const;

/** A client with all grants of users and machines, with the redirect URI of the first client. */
export const full = {
  clientId: 'full',
  secureKey: 'fullKey0123456789abcd',
  redirectUri: web.redirectUri,
} as const;
export const noRefresh = {
  clientId: 'no-refresh',
  secureKey: 'noRefreshKey012345678',
  redirectUri: web.redirectUri,
} as const;
export const scopeless = {
  clientId: 'scopeless',
  secureKey: 'scopelessKey0123456789',
  redirectUri: 'https://scopeless.example/callback',
} as const;
/** For users of its own organization only. */
export const own = { clientId: 'own', secureKey: 'ownKey0123456789abcde' } as const;
export const machine = { clientId: 'machine', secureKey: 'machineKey0123456789a' } as const;
export const disabled = { clientId: 'disabled', secureKey: 'disabledKey0123456789' } as const;
/** A third-party API that introspects the tokens that it receives. */
export const resourceServer = {
  clientId: 'resources',
  secureKey: 'resourceKey0123456789',
} as const;

/** Devices without a keyboard. Only the box has a secret, and the users of the kiosk see no consent. */
export const tv = { clientId: 'tv', name: 'Living room TV' } as const;
export const radio = { clientId: 'radio', name: 'Kitchen radio' } as const;
export const kiosk = { clientId: 'kiosk', name: 'Kiosk' } as const;
export const box = { clientId: 'box', secureKey: 'boxKey0123456789abcd' } as const;
/** For users of the other organization only. */
export const screen = { clientId: 'screen', name: 'Meeting room screen' } as const;
/** Signs users in on devices and in the browser. */
export const player = {
  clientId: 'player',
  redirectUri: 'https://player.example/callback',
} as const;

/** The name contains a character that reverses the direction of the text after it. */
export const deceiver = {
  clientId: 'deceiver',
  secureKey: 'deceiverKey0123456789',
  redirectUri: 'https://deceiver.example/callback',
  name: 'Bank\u202Egnp.exe <i>x</i>',
} as const;

export const alice = { username: 'alice', password: 'correct horse battery' } as const;
export const bob = { username: 'bob', password: 'a password of bob' } as const;
/** A user with an address and roles. */
export const carol = { username: 'carol', password: 'a password of carol' } as const;
/** A user of the other organization. */
export const olga = { username: 'olga', password: 'a password of olga' } as const;
export const blocked = { username: 'blocked', password: 'a password of blocked' } as const;

interface Known {
  readonly clientId: string;
  readonly secureKey?: string;
  readonly redirectUri?: string;
}

/** The definition of a client. Without a secret, it is public. */
export function client(
  { clientId, secureKey, redirectUri }: Known,
  grantTypes: readonly string[],
  scopes: readonly string[],
  more: object = {},
) {
  return {
    ...{ clientId, name: clientId, orgId: 'org-1', grantTypes, scopes },
    ...(secureKey === undefined ? { public: true } : { secureKey }),
    ...(redirectUri === undefined ? {} : { redirectUris: [redirectUri] }),
    ...more,
  };
}

const CODE = 'authorization_code';
const MACHINE = 'client_credentials';
const REFRESH = 'refresh_token';
const read = ['device:read'];
const ofUsers = ['device:read', 'device:log', 'openid', 'profile'];
const fullScopes = ['device:read', 'device:write', 'device:log', 'openid', 'profile'];
const ofOther = { orgId: 'org-2', ownOrganizationOnly: true };

export const installation = {
  organizations: [
    { id: 'org-1', name: 'Example' },
    { id: 'org-2', name: 'Another' },
  ],
  clients: [
    client(web, [CODE, MACHINE, REFRESH], knownScopes, {
      name: 'Example web application',
      postLogoutRedirectUris: [web.signedOutUri],
    }),
    client(odd, [MACHINE, CODE], read, {
      name: 'Odd <b>name</b>',
      redirectUris: ['https://odd.example/one', 'https://odd.example/two'],
    }),
    client(browserApp, [CODE, REFRESH], knownScopes, {
      corsOrigins: [browserApp.origin],
      postLogoutRedirectUris: [`${browserApp.origin}/signed-out`],
    }),
    client(implicitApp, ['implicit'], ofUsers, { name: 'Implicit application' }),
    client(rp, [CODE, 'implicit'], ofUsers, {
      redirectUris: rp.redirectUris,
      postLogoutRedirectUris: [rp.signedOutUri],
    }),
    client(firstParty, [CODE, REFRESH], ['openid', 'device:read', 'device:write'], {
      firstParty: true,
    }),
    client(full, [CODE, MACHINE, REFRESH, 'password'], fullScopes),
    client(noRefresh, [CODE], [...fullScopes, 'offline_access']),
    client(scopeless, [CODE], [], { firstParty: true }),
    client(own, ['password'], read, ofOther),
    client(machine, [MACHINE, REFRESH], ['device:read', 'device:write']),
    client(disabled, [MACHINE], read, { enabled: false }),
    client(resourceServer, [MACHINE], [], { resourceServer: true }),
    client(tv, [DEVICE_GRANT, REFRESH], ['device:read', 'profile'], tv),
    client(radio, [DEVICE_GRANT], read, radio),
    client(kiosk, [DEVICE_GRANT], ['device:read', 'profile'], { ...kiosk, firstParty: true }),
    client(box, [DEVICE_GRANT], read),
    client(screen, [DEVICE_GRANT], read, { ...screen, ...ofOther }),
    client(player, [DEVICE_GRANT, CODE], read),
    client(deceiver, [CODE], ofUsers, { name: deceiver.name }),
  ],
  users: [
    { ...alice, name: 'Alice Example', orgId: 'org-1' },
    { ...bob, name: 'Bob <Example>', orgId: 'org-1' },
    {
      ...carol,
      ...{ name: 'Carol Example', givenName: 'Carol', familyName: 'Example', orgId: 'org-1' },
      ...{ email: 'carol@example.com', emailVerified: true, roles: ['admin', 'plant 7'] },
    },
    { ...olga, name: 'Olga', orgId: 'org-2' },
    { ...blocked, name: 'Blocked', orgId: 'org-1', enabled: false },
  ],
};
