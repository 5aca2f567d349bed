/**
 * Sessions of users at the hosts in `browserHosts`. A gateway redeems the code of a sign-in in the
 * shared store, so it needs no connection to the authorization server. A session is a token under
 * the grant of that sign-in: it ends with the grant, the user, the host and the installation. Its
 * record is where no other verifier looks, so the value of the cookie is not an access token.
 */
import { hash, randomBytes } from 'node:crypto';
import { claimOnce } from '@gatehouse/store';
import { z } from 'zod';
import { browserClientOf } from '../clients/built-in-clients.ts';
import type { ClientRegistry } from '../clients/clients.ts';
import { parseRecord } from '../records/record.ts';
import { browserSessionKey, credentialKey, grantMembersKey } from '../secrets/credential-keys.ts';
import { findMatchingSecret } from '../secrets/secure-keys.ts';
import { lifetimesOf } from '../settings/lifetimes.ts';
import type { UserRegistry } from '../users/users.ts';
import {
  createAccessTokenVerifier,
  createLiveHolders,
  createTokenPrincipals,
  type NotBefore,
  type TokenDependencies,
} from './access-tokens.ts';

/** The members of the authorization server's record that a redemption needs. */
const storedCode = z.object({
  kind: z.literal('AuthorizationCode'),
  clientId: z.string(),
  accountId: z.string(),
  grantId: z.string(),
  redirectUri: z.string(),
  codeChallenge: z.string(),
  codeChallengeMethod: z.literal('S256'),
  iat: z.int(),
  exp: z.int(),
  authTime: z.int().optional(),
  acr: z.string().optional(),
  amr: z.array(z.string()).optional(),
});

/** The record and its claim may be written a moment apart. */
const MARGIN_SECONDS = 60;

export function createBrowserSessions(
  dependencies: TokenDependencies & {
    readonly clients: ClientRegistry;
    readonly users: UserRegistry;
    readonly notBefore: NotBefore;
  },
) {
  const { store, credentialHash, clients, users, notBefore, settings, now } = dependencies;

  const findClient = async (clientId: string) => browserClientOf(clientId, await settings.read());
  const findLiveHolder = createLiveHolders({ ...clients, find: findClient }, users, notBefore);
  const holders = { ...dependencies, findLiveHolder };
  const tokenPrincipals = createTokenPrincipals(holders);
  const verify = createAccessTokenVerifier({ ...holders, tokenPrincipals }, browserSessionKey);

  return {
    /** The client of a declared host. */
    findClient,
    /** For credentials of these clients, which no other verifier knows. */
    findLiveHolder,
    /** @returns undefined if the session is unknown, expired or ended */
    verify,
    /**
     * Redeems the code of a sign-in, once.
     *
     * @returns a new session and its owner. Undefined if the code is not for this client and address,
     *   the verifier is wrong (RFC 7636 §4.6), or the code is used, expired or revoked
     */
    async redeem(
      code: string,
      expected: Readonly<Record<'clientId' | 'redirectUri' | 'verifier', string>>,
    ) {
      const key = credentialKey('AuthorizationCode', credentialHash(code));
      const stored = parseRecord(storedCode, await store.get(key));
      const seconds = Math.floor(now() / 1000);
      if (
        stored === undefined ||
        stored.exp <= seconds ||
        stored.clientId !== expected.clientId ||
        stored.redirectUri !== expected.redirectUri ||
        findMatchingSecret(stored.codeChallenge, [challengeOf(expected.verifier)]) !== 0 ||
        // The same claim as that of the token endpoint.
        !(await claimOnce(store, `claimed:${key}`, stored.exp - seconds + MARGIN_SECONDS))
      ) {
        return undefined;
      }
      const { clientId, accountId, grantId, iat, authTime, acr, amr } = stored;
      const { accessToken } = lifetimesOf((await settings.read()).lifetimes);
      const token = randomBytes(32).toString('base64url');
      const sessionKey = browserSessionKey(credentialHash(token));
      const exp = seconds + accessToken;
      // As old as the code: a revocation since then must end the session, too.
      const session = { kind: 'AccessToken', clientId, accountId, grantId, iat, exp };
      await store.addToIndex(grantMembersKey(grantId), sessionKey, exp * 1000);
      await store.set(sessionKey, JSON.stringify({ ...session, authTime, acr, amr }), accessToken);
      const principal = await verify(token);
      return principal && { token, principal };
    },
  };
}

/** RFC 7636 §4.2. */
const challengeOf = (verifier: string) => hash('sha256', verifier, 'base64url');
