import { type Principal, type SigningKey, signInternalToken } from '@gatehouse/identity';
import { LRUCache } from 'lru-cache';
import { type Route, userClaims } from '../routes/route.ts';

/** Every token that an upstream gets is valid for at least half of its lifetime. */
const REUSE_MILLISECONDS = 30_000;
const MAXIMUM_ENTRIES = 10_000;

/** The route of a call: its service, and the claims that the service needs. */
type TokenRecipient = Pick<Route, 'upstream' | 'claims'>;

export type InternalTokenIssuer = ReturnType<typeof createInternalTokenIssuer>;

export function createInternalTokenIssuer(dependencies: {
  readonly issuer: string;
  readonly signingKey: () => Promise<SigningKey>;
  readonly now: () => number;
}) {
  const { issuer, signingKey, now } = dependencies;
  const cache = new LRUCache<string, { readonly token: string; readonly freshUntil: number }>({
    max: MAXIMUM_ENTRIES,
  });

  // Consecutive requests that share a verification have the same principal object.
  let last = {
    principal: undefined as Principal | undefined,
    recipient: undefined as TokenRecipient | undefined,
    key: '',
  };

  async function issue(
    { principal }: { readonly principal: Principal },
    { upstream: audience = '', claims }: TokenRecipient,
    cacheKey: string,
  ): Promise<string> {
    const issuedAt = now();
    const token = await signInternalToken(
      { ...principal, issuer, audience, claims: claimsOf(principal, claims) },
      await signingKey(),
      issuedAt,
    );
    cache.set(cacheKey, { token, freshUntil: issuedAt + REUSE_MILLISECONDS });
    return token;
  }

  /** The token that tells an upstream who the caller is (RFC 9068), from a cache if possible. */
  return (
    caller: { readonly principal: Principal },
    recipient: TokenRecipient,
  ): string | Promise<string> => {
    const { principal } = caller;
    if (principal !== last.principal || recipient !== last.recipient) {
      last = { principal, recipient, key: keyOf(principal, recipient) };
    }
    const cached = cache.get(last.key);
    return cached !== undefined && now() < cached.freshUntil
      ? cached.token
      : issue(caller, recipient, last.key);
  };
}

/** Equal principals have equal keys. */
function keyOf(principal: Principal, { upstream, claims }: TokenRecipient): string {
  const { clientId, subject, orgId, scopes } = principal;
  const asked = claims.length === 0 ? [] : [claimsOf(principal, claims)];
  return JSON.stringify([upstream, clientId, subject, orgId, ...scopes, ...asked]);
}

/** The claims that are known. A machine has none. */
function claimsOf(principal: Principal, names: readonly string[]): Record<string, unknown> {
  const { attributes = {} } = principal.user ?? {};
  return Object.fromEntries(
    names.map((name) => {
      const read = userClaims.get(name);
      return [name, read === undefined ? attributes[name] : read(principal)];
    }),
  );
}
