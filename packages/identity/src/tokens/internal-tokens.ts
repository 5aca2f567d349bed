/** The tokens that tell a service behind the gateway who the caller is (RFC 9068). */
import { randomUUID } from 'node:crypto';
import { SignJWT } from 'jose/jwt/sign';
import type { SigningKey } from '../secrets/signing-keys.ts';
import type { Principal } from './access-tokens.ts';

const LIFETIME_SECONDS = 60;

/**
 * Signs a token that is valid for a minute, with the key of the gateway.
 *
 * @param caller.claims further claims. They cannot replace those of the caller
 * @param issuedAt epoch milliseconds
 */
export function signInternalToken(
  caller: Pick<Principal, 'clientId' | 'subject' | 'orgId' | 'scopes'> & {
    /** The public URL of the gateway. */
    readonly issuer: string;
    /** The name of the service. */
    readonly audience: string;
    readonly claims?: Readonly<Record<string, unknown>>;
  },
  { kid, privateKey }: Pick<SigningKey, 'kid' | 'privateKey'>,
  issuedAt: number,
): Promise<string> {
  const { issuer, audience, clientId, subject, orgId, scopes, claims } = caller;
  const issuedAtSeconds = Math.floor(issuedAt / 1000);
  return new SignJWT({ ...claims, client_id: clientId, org: orgId, scope: [...scopes].join(' ') })
    .setProtectedHeader({ alg: 'EdDSA', typ: 'at+jwt', kid })
    .setIssuer(issuer)
    .setAudience(audience)
    .setSubject(subject)
    .setIssuedAt(issuedAtSeconds)
    .setExpirationTime(issuedAtSeconds + LIFETIME_SECONDS)
    .setJti(randomUUID())
    .sign(privateKey);
}
