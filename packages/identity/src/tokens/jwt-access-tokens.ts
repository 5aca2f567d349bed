/**
 * Access tokens in the form of a JWT (RFC 9068), for resources that are declared with
 * `"tokenFormat": "jwt"`. No record of them is stored: the signature proves what the record of an
 * opaque token contains. Everything else is checked as for any token: client, user, key, revocation.
 *
 *   header: RS256, at+jwt, kid ─▶ signature ─▶ issuer, times, resource ─▶ holder, tombstone ─▶ principal
 */
import { type KeyObject, verify } from 'node:crypto';
import { z } from 'zod';
import { parseRecord } from '../records/record.ts';
import type { SettingsRegistry } from '../settings/settings.ts';
import type { AccessTokenVerifier, StoredAccessToken, TokenPrincipals } from './access-tokens.ts';
import type { FindTokenKind } from './x-access-tokens.ts';

/** No other parameter: a critical extension that is not understood must be rejected (RFC 7515). */
const headerSchema = z.strictObject({
  alg: z.literal('RS256'),
  typ: z.literal('at+jwt'),
  kid: z.string(),
});

const claimsSchema = z.object({
  iss: z.string(),
  aud: z.string(),
  sub: z.string(),
  client_id: z.string(),
  jti: z.string(),
  iat: z.int(),
  exp: z.int(),
  scope: z.string().optional(),
  auth_time: z.int().optional(),
  acr: z.string().optional(),
  amr: z.array(z.string()).optional(),
  /** What the verifiers of this installation need in addition. */
  gatehouse: z.object({
    user: z.string().optional(),
    grant: z.string().optional(),
    key: z.string().optional(),
  }),
});

export type JwtAccessTokenClaims = Readonly<z.infer<typeof claimsSchema>>;

/** Whether the text can be a JWT. An opaque token has no dot. */
export const isJwt = (token: string): boolean => token.includes('.');

/** The tombstone of a token is that of its grant. A machine's token has its own. */
export const tombstoneOf = ({ gatehouse: { grant }, jti }: JwtAccessTokenClaims): string =>
  grant ?? jti;

export type JwtAccessTokens = ReturnType<typeof createJwtAccessTokens>;

export function createJwtAccessTokens(dependencies: {
  /** The published key of the authorization server. */
  readonly findKey: (kid: string) => Promise<KeyObject | undefined>;
  readonly tokenPrincipals: TokenPrincipals;
  readonly settings: Pick<SettingsRegistry, 'read'>;
  readonly now: () => number;
}) {
  const { findKey, tokenPrincipals, settings, now } = dependencies;
  const { principalOf, readTombstone } = tokenPrincipals;

  /** The claims of a genuine token, which may be expired or revoked. */
  async function read(token: string): Promise<JwtAccessTokenClaims | undefined> {
    const [, header = '', payload = '', signature = ''] = JWT.exec(token) ?? [];
    const known = parseRecord(headerSchema, decode(header));
    const key = known && (await findKey(known.kid));
    const signed = Buffer.from(`${header}.${payload}`);
    if (key === undefined || !verify('sha256', signed, key, Buffer.from(signature, 'base64url'))) {
      return undefined;
    }
    return parseRecord(claimsSchema, decode(payload));
  }

  return {
    read,
    /**
     * @returns undefined unless the token is genuine and has not expired. Without a principal, it was
     *   revoked
     * @throws StoreUnavailableError
     */
    async find(token: string, issuer: string) {
      const claims = await read(token);
      const { resources } = await settings.read();
      const isCurrent = claims?.iss === issuer && claims.exp * 1000 > now();
      if (!isCurrent || resources.get(claims.aud)?.tokenFormat !== 'jwt') {
        return undefined;
      }
      const principal = await principalOf(toStored(claims), readTombstone(tombstoneOf(claims)));
      return { claims, principal };
    },
  };
}

/** What a gateway accepts as a bearer token: opaque tokens, and JWTs of this issuer. */
export function withJwtAccessTokens(
  tokens: {
    readonly verifyAccessToken: AccessTokenVerifier;
    readonly findTokenKind: FindTokenKind;
    readonly jwtAccessTokens: JwtAccessTokens;
  },
  issuer: string,
): Pick<typeof tokens, 'verifyAccessToken' | 'findTokenKind'> {
  const { verifyAccessToken, findTokenKind, jwtAccessTokens } = tokens;
  return {
    verifyAccessToken: (token) =>
      isJwt(token)
        ? jwtAccessTokens.find(token, issuer).then((found) => found?.principal)
        : verifyAccessToken(token),
    findTokenKind: async (token) => {
      const known = isJwt(token) && (await jwtAccessTokens.find(token, issuer));
      return known ? { kind: 'bearer', clientId: known.claims.client_id } : findTokenKind(token);
    },
  };
}

const JWT = /^([\w-]+)\.([\w-]+)\.([\w-]+)$/;

const decode = (part: string) => Buffer.from(part, 'base64url').toString('utf8');

function toStored(claims: JwtAccessTokenClaims): StoredAccessToken {
  const { client_id: clientId, iat, exp, scope, aud, auth_time: authTime, acr, amr } = claims;
  const { user: accountId, grant: grantId, key: secureKeyId } = claims.gatehouse;
  const token = { kind: 'AccessToken', clientId, iat, exp, aud };
  const optional = { accountId, grantId, secureKeyId, scope, authTime, acr, amr };
  return { ...token, ...optional } as StoredAccessToken;
}
