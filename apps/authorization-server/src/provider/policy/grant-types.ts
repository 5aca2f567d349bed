export type SecurityProfile = 'compatible' | 'strict';

/** The `strict` profile rejects these for all clients (RFC 9700 §2.1.2, §2.4). */
const legacyGrantTypes = new Set(['implicit', 'password']);

export const allGrantTypes = [
  'authorization_code',
  'client_credentials',
  'implicit',
  'password',
  'refresh_token',
  'urn:ietf:params:oauth:grant-type:device_code',
] as const;

/** The grant types that the server supports. A client may be registered for more. */
export function supportedGrantTypes(profile: SecurityProfile): ReadonlySet<string> {
  return new Set(
    allGrantTypes.filter((name) => profile === 'compatible' || !legacyGrantTypes.has(name)),
  );
}
