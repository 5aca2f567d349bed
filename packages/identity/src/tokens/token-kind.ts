import type { Store } from '@gatehouse/store';
import type { CredentialHash } from '../secrets/credential-hash.ts';
import { accessTokenKey, xAccessTokenKey } from '../secrets/credential-keys.ts';
import { parseStoredToken } from './access-tokens.ts';
import { parseXAccessToken } from './x-access-tokens.ts';

export type TokenKind = 'access-token' | 'x-access-token';

/**
 * The kind of an unexpired token, even if it is revoked. Undefined if the store has no record of
 * it. Only the holder of a token learns its kind, because the store knows tokens by their HMAC.
 *
 * @throws StoreUnavailableError
 */
export type FindTokenKind = (token: string) => Promise<TokenKind | undefined>;

export function createTokenKinds(dependencies: {
  readonly store: Store;
  readonly credentialHash: CredentialHash;
  readonly now: () => number;
}): FindTokenKind {
  const { store, credentialHash, now } = dependencies;
  return async (token) => {
    const hashed = credentialHash(token);
    // Both reads always happen, so that every unknown token takes the same time.
    const [access, xAccess] = await Promise.all([
      store.get(accessTokenKey(hashed)),
      store.get(xAccessTokenKey(hashed)),
    ]);
    const accessToken = access === undefined ? undefined : parseStoredToken(access);
    if (accessToken !== undefined) {
      return accessToken.exp * 1000 > now() ? 'access-token' : undefined;
    }
    const xAccessToken = xAccess === undefined ? undefined : parseXAccessToken(xAccess);
    return xAccessToken !== undefined && xAccessToken.expiresAt > now()
      ? 'x-access-token'
      : undefined;
  };
}
