/**
 * private_key_jwt (RFC 7523, OpenID Connect Core §9). The library finds the client, and checks
 * signature, issuer, audience and expiry. This file adds what it leaves open: the audience of the
 * strict profile, a bound for the lifetime, the key that was proven, and one atomic single use.
 */
import {
  assertionAlgorithms,
  type Identity,
  type PublicKey,
  publicKeyIds,
} from '@gatehouse/identity';
import { claimOnce, createStoreBudget } from '@gatehouse/store';
import { type Configuration, errors, type KoaContextWithOIDC, type Provider } from 'oidc-provider';
import { TryLaterError } from '../requests/failures.ts';
import { contextOf } from '../requests/request-context.ts';
import type { SecurityProfile } from './clients.ts';
import { currentContext, currentRequest } from './library.ts';

/** The clock of a client can be ahead, and many libraries set `nbf` to its time. */
const CLOCK_SECONDS = 30;
/** A used `jti` is stored until its assertion expires. Some libraries sign for an hour. */
const LONGEST_SECONDS = 60 * 60;
/** Servers whose clocks differ must not forget a `jti` before the assertion expires everywhere. */
const MARGIN_SECONDS = 60;
/** What a used `jti` costs the store. */
const CLAIM_BYTES = 256;

/** The part of the configuration that verifies assertions. */
export function assertionSettings(profile: SecurityProfile) {
  return {
    enabledJWA: { clientAuthSigningAlgValues: [...assertionAlgorithms] },
    async assertJwtClientAuthClaimsAndHeader(context, { aud, exp }, { kid }, client) {
      assertAudience(context, aud, profile);
      if (Number(exp) - Date.now() / 1000 > LONGEST_SECONDS + CLOCK_SECONDS) {
        throw new errors.InvalidClientAuth('the assertion is valid for more than an hour');
      }
      // Of the client whose keys verified the assertion: its record can have changed since.
      const keys = (client.jwks?.keys ?? []) as readonly PublicKey[];
      // OpenID Connect Core §10.1: with several keys, the header names one.
      const isNamed = (key: PublicKey) => typeof kid === 'string' && key.kid === kid;
      const key = keys.length < 2 ? keys[0] : keys.find(isNamed);
      const jwksUri = client.keysAddress as string | undefined;
      const [keyId] = publicKeyIds(
        jwksUri === undefined ? { jwks: key && { keys: [key] } } : { jwksUri },
      );
      if (keyId === undefined) {
        throw new errors.InvalidClientAuth('the header must name the kid of one of several keys');
      }
      contextOf(context.req).assertedKeyId = keyId;
    },
  } satisfies Configuration;
}

/**
 * An assertion for several servers could be replayed by one of them at another. A client that uses
 * an attacker's server could also be led to name an endpoint of this one (RFC 7523bis), so the
 * strict profile accepts the issuer only.
 */
function assertAudience(
  { oidc }: KoaContextWithOIDC,
  audience: unknown,
  profile: SecurityProfile,
): void {
  const accepted = oidc.clientJwtAuthExpectedAudience();
  const isAccepted =
    profile === 'strict'
      ? audience === oidc.issuer
      : [audience].flat().every((each) => accepted.has(String(each)));
  if (!isAccepted) {
    throw new errors.InvalidClientAuth('the audience must be this issuer alone');
  }
}

/** Seconds by which the clock of the client may differ. Tokens and codes have no such tolerance. */
export function clockTolerance(): number {
  // While the client is authenticated, the library reads nothing else that expires.
  const isAuthenticating =
    currentContext()?.oidc?.params?.client_assertion !== undefined &&
    currentRequest().secureKeyId === undefined;
  return isAuthenticating ? CLOCK_SECONDS : 0;
}

/** The library looks for a used `jti` and then writes it, so two requests could both use it. */
export function claimAssertions(provider: Provider, identity: Identity): void {
  const { store, clients, credentialHash, lastUse } = identity;
  const record = { bytes: CLAIM_BYTES, windowSeconds: LONGEST_SECONDS };
  const budget = createStoreBudget('assertion', record, { store, now: Date.now });
  provider.ReplayDetection.unique = async (clientId, jti, expiresAt) => {
    const orgId = (await clients.find(clientId))?.orgId ?? '';
    const rejection = await budget.take({ clientId, orgId });
    if (rejection !== undefined) {
      const message = 'The client sent too many assertions.';
      throw new TryLaterError('stored_state_limit', rejection.resetsAt, message);
    }
    const key = `assertion:${credentialHash(JSON.stringify([clientId, jti]))}`;
    const seconds = Math.max(0, Math.ceil(expiresAt - Date.now() / 1000)) + MARGIN_SECONDS;
    const isFirst = await claimOnce(store, key, seconds);
    if (isFirst) {
      const found = currentRequest();
      found.secureKeyId = found.assertedKeyId;
      lastUse.noteClient(clientId, found.assertedKeyId);
    }
    return isFirst;
  };
}
