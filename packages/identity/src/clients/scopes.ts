import { deviceScopes } from '@gatehouse/device-api';

/** The scopes of OpenID Connect. A client_credentials token never has one. */
export const identityScopes = ['openid', 'profile', 'email', 'groups', 'offline_access'] as const;

export const knownScopes = [...deviceScopes, ...identityScopes] as const;

export type Scope = (typeof knownScopes)[number];
