import { randomUUID } from 'node:crypto';
import type { Principal, SigningKey } from '@gatehouse/identity';
import { SignJWT } from 'jose';
import { LRUCache } from 'lru-cache';

const LIFETIME_SECONDS = 60;
/** Every token that an upstream gets is valid for at least half of its lifetime. */
const REUSE_MILLISECONDS = 30_000;
const MAXIMUM_ENTRIES = 10_000;

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
  let last = { principal: undefined as Principal | undefined, audience: '', key: '' };

  async function issue(
    { clientId, subject, orgId, scopes }: Principal,
    audience: string,
    cacheKey: string,
  ): Promise<string> {
    const issuedAt = now();
    const scope = [...scopes].join(' ');
    const { kid, privateKey } = await signingKey();
    const issuedAtSeconds = Math.floor(issuedAt / 1000);
    const token = await new SignJWT({ client_id: clientId, org: orgId, scope })
      .setProtectedHeader({ alg: 'EdDSA', typ: 'at+jwt', kid })
      .setIssuer(issuer)
      .setAudience(audience)
      .setSubject(subject)
      .setIssuedAt(issuedAtSeconds)
      .setExpirationTime(issuedAtSeconds + LIFETIME_SECONDS)
      .setJti(randomUUID())
      .sign(privateKey);
    cache.set(cacheKey, { token, freshUntil: issuedAt + REUSE_MILLISECONDS });
    return token;
  }

  /** The token that tells an upstream who the caller is (RFC 9068), from a cache if possible. */
  return (principal: Principal, audience: string): string | Promise<string> => {
    if (principal !== last.principal || audience !== last.audience) {
      const { clientId, subject, orgId, scopes } = principal;
      // Equal principals have equal keys.
      const key = JSON.stringify([audience, clientId, subject, orgId, ...scopes]);
      last = { principal, audience, key };
    }
    const cached = cache.get(last.key);
    return cached !== undefined && now() < cached.freshUntil
      ? cached.token
      : issue(principal, audience, last.key);
  };
}
