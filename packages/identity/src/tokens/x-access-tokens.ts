import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import type { Client } from '../clients/client.ts';
import { isActive } from '../clients/client-keys.ts';
import {
  MAXIMUM_RECORD_AGE_MILLISECONDS,
  memoized,
  parseRecord,
  readRecord,
} from '../records/record.ts';
import { accessTokenKey, xAccessTokenKey, xAccessTokensKey } from '../secrets/credential-keys.ts';
import { isOperatorApi } from '../settings/operators.ts';
import { scopesOfResource } from '../settings/scopes.ts';
import { noSettings, type Settings, type SettingsRegistry } from '../settings/settings.ts';
import { type Principal, parseStoredToken, type TokenDependencies } from './access-tokens.ts';

const TOKEN_BYTES = 32;
const MAXIMUM_LIVE_TOKENS = 1000;

/** Separates these tokens from OAuth access tokens, as the key prefix does. */
export const X_ACCESS_TOKEN = 'XAccessToken';

const storedToken = z.object({
  kind: z.literal(X_ACCESS_TOKEN),
  clientId: z.string(),
  /** Epoch seconds, compared with the `notBefore` of the client. */
  issuedAt: z.int(),
  /** Epoch milliseconds. */
  expiresAt: z.int(),
  secureKeyId: z.string().optional(),
});

/** Fails closed: a damaged record is not a token. */
const parseXAccessToken = (text: string) => parseRecord(storedToken, text);

/**
 * The tokens of Method B. A client requests one with a signed request, and sends it in a header.
 *
 * @param maximumLiveTokens of one client. A further token revokes the one that expires
 *   first. This limits the space that a client can use.
 */
export function createXAccessTokens(
  dependencies: TokenDependencies & { readonly principalOf: ClientPrincipals },
  maximumLiveTokens = MAXIMUM_LIVE_TOKENS,
) {
  const { store, credentialHash, findLiveHolder, principalOf, onDamagedRecord, now } = dependencies;

  async function revokeSurplus(indexKey: string, newest: string): Promise<void> {
    const others = (await store.members(indexKey)).filter((member) => member !== newest);
    const surplus = others.slice(0, Math.max(0, others.length + 1 - maximumLiveTokens));
    await store.delete(surplus.map(xAccessTokenKey));
    await Promise.all(surplus.map((member) => store.removeFromIndex(indexKey, member)));
  }

  /** The client with its current scopes, and the times of the token in epoch seconds. */
  async function find(token: string) {
    const key = xAccessTokenKey(credentialHash(token));
    const stored = readRecord(await store.get(key), parseXAccessToken, () =>
      onDamagedRecord?.('X-Access-Token', key),
    );
    if (stored === undefined || stored.expiresAt <= now()) {
      return undefined;
    }
    const { issuedAt, clientId, secureKeyId } = stored;
    const client = (await findLiveHolder({ issuedAt, clientId, secureKeyId }))?.client;
    if (!client?.keys.some(isActive)) {
      return undefined;
    }
    return {
      principal: await principalOf(client),
      issuedAt,
      expiresAt: Math.floor(stored.expiresAt / 1000),
    };
  }

  return {
    /**
     * Only a hash of the token is stored. Use does not extend its lifetime.
     *
     * @param secureKeyId of the key that signed the request
     */
    async issue(
      holder: { readonly clientId: string; readonly secureKeyId?: string | undefined },
      lifetimeSeconds: number,
    ): Promise<string> {
      const { clientId, secureKeyId } = holder;
      const token = randomBytes(TOKEN_BYTES).toString('base64url');
      const hashed = credentialHash(token);
      const expiresAt = now() + lifetimeSeconds * 1000;
      const indexKey = xAccessTokensKey(clientId);
      // The request was verified with a copy of the client of at most this age. A `notBefore` that
      // was written since must also revoke this token.
      const issuedAt = Math.floor((now() - MAXIMUM_RECORD_AGE_MILLISECONDS) / 1000);
      await store.addToIndex(indexKey, hashed, expiresAt);
      await store.set(
        xAccessTokenKey(hashed),
        JSON.stringify({ kind: X_ACCESS_TOKEN, clientId, issuedAt, expiresAt, secureKeyId }),
        lifetimeSeconds,
      );
      await revokeSurplus(indexKey, hashed);
      return token;
    },
    verify: async (token: string): Promise<Principal | undefined> => (await find(token))?.principal,
    find,
  };
}

/** Finds the principal of a client that authenticates by signature or X-Access-Token. */
export type ClientPrincipals = (client: Client) => Principal | Promise<Principal>;

/** Such a client has all of its scopes of its default resource, except the API of the console. */
export function createClientPrincipals(settings: SettingsRegistry): ClientPrincipals {
  const principalsOf = memoized((declared: Settings) =>
    memoized(({ clientId, orgId, scopes, defaultResource: resource }: Client): Principal => {
      const noUser = { userId: undefined, user: undefined, signIn: undefined };
      const current = isOperatorApi(resource, declared)
        ? []
        : scopesOfResource(scopes, resource, declared);
      const rights = { scopes: new Set(current), resource };
      return { clientId, orgId, ...noUser, subject: clientId, ...rights };
    }),
  );
  // The scopes of the device API do not depend on the settings.
  const deviceApiPrincipalOf = principalsOf(noSettings);
  return (client) =>
    client.defaultResource === undefined
      ? deviceApiPrincipalOf(client)
      : settings.read().then((declared) => principalsOf(declared)(client));
}

/** As the gateway names the kinds of credentials: `bearer` is an OAuth access token. */
export type TokenKind = 'bearer' | 'access-token';

/**
 * The kind of an unexpired token, even if it is revoked. Undefined if the store has no record of
 * it. Only the holder of a token learns its kind, because the store knows tokens by their HMAC.
 *
 * @throws StoreUnavailableError
 */
export type FindTokenKind = ReturnType<typeof createTokenKinds>;

export function createTokenKinds({ store, credentialHash, now }: TokenDependencies) {
  return async (
    token: string,
  ): Promise<{ readonly kind: TokenKind; readonly clientId: string } | undefined> => {
    const hashed = credentialHash(token);
    // Both reads always happen, so that every unknown token takes the same time.
    const [access, xAccess] = await Promise.all([
      store.get(accessTokenKey(hashed)),
      store.get(xAccessTokenKey(hashed)),
    ]);
    const bearer = parseStoredToken(access ?? '');
    if (bearer !== undefined && bearer.exp * 1000 > now()) {
      return { kind: 'bearer', clientId: bearer.clientId };
    }
    const other = parseXAccessToken(xAccess ?? '');
    return other !== undefined && other.expiresAt > now()
      ? { kind: 'access-token', clientId: other.clientId }
      : undefined;
  };
}
