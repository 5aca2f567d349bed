/** What a credential may do with devices. Methods A and B carry all of the client's. */
export const deviceScopes = ['device:read', 'device:write', 'device:log', 'device:report'] as const;

/** What OpenID Connect adds; never part of a client_credentials token. */
export const identityScopes = ['openid', 'profile', 'offline_access'] as const;

export const knownScopes = [...deviceScopes, ...identityScopes] as const;

export type Scope = (typeof knownScopes)[number];
