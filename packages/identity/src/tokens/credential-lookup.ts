/** What the holder of a value holds: tokens, codes and sessions of every kind. */
import { timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import { parseRecord } from '../records/record.ts';
import {
  browserSessionKey,
  credentialId,
  credentialKey,
  grantTombstoneKey,
  xAccessTokenKey,
} from '../secrets/credential-keys.ts';
import type { SecretDependencies } from '../secrets/seal.ts';
import { isBrowserClientId } from '../settings/browser-host.ts';
import type { FindLiveHolder } from './access-tokens.ts';
import {
  isJwt,
  type JwtAccessTokenClaims,
  type JwtAccessTokens,
  tombstoneOf,
} from './jwt-access-tokens.ts';
import { X_ACCESS_TOKEN } from './x-access-tokens.ts';

/** The kinds of credentials that an operator can revoke by value. */
const kinds = ['AccessToken', 'RefreshToken', 'AuthorizationCode', 'InitialAccessToken'];

const storedCredential = z.object({
  kind: z.string(),
  clientId: z.string().optional(),
  accountId: z.string().optional(),
  grantId: z.string().optional(),
  // What only describes it must not prevent a revocation.
  scope: z.string().optional().catch(undefined),
  /** Of an access token. Others have `resource`. */
  aud: z.string().optional().catch(undefined),
  resource: z
    .union([z.string(), z.array(z.string())])
    .optional()
    .catch(undefined),
  secureKeyId: z.string().optional().catch(undefined),
  iat: z.number().optional().catch(undefined),
  exp: z.number().optional().catch(undefined),
  issuedAt: z.number().optional().catch(undefined),
  expiresAt: z.number().optional().catch(undefined),
});

/** Selects a credential: its value, or the reference that an earlier lookup returned. */
export type CredentialName = string | { readonly reference: string };

/**
 * Finds a credential with its end, which does not include its grant.
 *
 * A reference finds it again, and is no credential: the HMAC of an opaque token, or the claims of a
 * JWT without its signature, with an HMAC so that nobody can choose them.
 */
export function createCredentialLookup(
  dependencies: SecretDependencies & {
    readonly jwtAccessTokens: Pick<JwtAccessTokens, 'read'>;
    readonly findLiveHolder: FindLiveHolder;
  },
) {
  const { store, credentialHash, jwtAccessTokens, findLiveHolder, now } = dependencies;

  const macOf = (text: string) => credentialHash(`reference of a credential ${text}`);

  function locateClaims(claims: JwtAccessTokenClaims) {
    const text = Buffer.from(JSON.stringify(claims)).toString('base64url');
    const { user: userId, grant: grantId, key: keyId } = claims.gatehouse;
    const tokenIds = [credentialId(credentialHash(claims.jti))];
    const { client_id: clientId, iat: issuedAt, exp: expiresAt, aud: resource, scope } = claims;
    const credential = { kind: 'AccessToken', clientId, userId, tokenIds, grantId };
    return {
      credential: { ...credential, scope, resource, keyId, issuedAt, expiresAt },
      reference: `${text}.${macOf(text)}`,
      tombstone: tombstoneOf(claims),
      /** Services that are not behind the gateway accept the token until it expires. */
      async end() {
        const seconds = expiresAt - Math.floor(now() / 1000);
        if (grantId === undefined && seconds > 0) {
          await store.set(grantTombstoneKey(claims.jti), '', seconds, { revokes: true });
        }
      },
    };
  }

  async function locateHashed(hashed: string) {
    const keys = kinds.map((kind) => credentialKey(kind, hashed));
    for (const key of [...keys, xAccessTokenKey(hashed), browserSessionKey(hashed)]) {
      const found = parseRecord(storedCredential, await store.get(key));
      if (found !== undefined) {
        const { kind, clientId, accountId: userId, grantId, scope, secureKeyId: keyId } = found;
        const resource = [found.aud ?? found.resource ?? []].flat()[0];
        const credential = { kind, clientId, userId, tokenIds: [credentialId(hashed)], grantId };
        return {
          credential: { ...credential, scope, resource, keyId, ...timesOf(found) },
          reference: hashed,
          tombstone: grantId,
          end: () => store.delete([key]),
        };
      }
    }
    return undefined;
  }

  async function locate(name: CredentialName) {
    if (typeof name === 'string') {
      const claims = isJwt(name) ? await jwtAccessTokens.read(name) : undefined;
      return claims ? locateClaims(claims) : locateHashed(credentialHash(name));
    }
    const [text = '', mac] = name.reference.split('.');
    if (mac === undefined) {
      return locateHashed(text);
    }
    const expected = Buffer.from(macOf(text));
    const given = Buffer.from(mac);
    const isOwn = given.length === expected.length && timingSafeEqual(given, expected);
    return isOwn ? locateClaims(JSON.parse(String(Buffer.from(text, 'base64url')))) : undefined;
  }

  return {
    locate,
    /** A credential, its reference, and whether it was revoked. Undefined if it is unknown. */
    async find(name: CredentialName) {
      const located = await locate(name);
      if (located === undefined) {
        return undefined;
      }
      const { credential, reference, tombstone } = located;
      const { clientId, userId, issuedAt, keyId: secureKeyId } = credential;
      // A client of a browser session has no record. The session ends with its user and its grant.
      const holder = isBrowserClientId(clientId) ? { userId } : { clientId, userId, secureKeyId };
      const isLive = (await findLiveHolder({ issuedAt, ...holder })) !== undefined;
      const isEnded =
        tombstone !== undefined && (await store.get(grantTombstoneKey(tombstone))) !== undefined;
      return { ...credential, reference, isRevoked: !isLive || isEnded };
    },
  };
}

/** In epoch seconds. X-Access-Tokens expire at a time in milliseconds. */
function timesOf({ kind, iat, exp, issuedAt, expiresAt }: z.infer<typeof storedCredential>) {
  const seconds = kind === X_ACCESS_TOKEN && expiresAt ? Math.floor(expiresAt / 1000) : expiresAt;
  return { issuedAt: iat ?? issuedAt ?? 0, expiresAt: exp ?? seconds };
}
