import { randomBytes } from 'node:crypto';
import type { Store } from '@gatehouse/store';
import { z } from 'zod';
import { type OnDamagedRecord, readRecord } from '../records/damaged-record.ts';
import { parseRecord } from '../records/parse-record.ts';
import { MAXIMUM_RECORD_AGE_MILLISECONDS } from '../records/record-cache.ts';
import type { FindLiveHolder } from '../revocation/live-holder.ts';
import type { CredentialHash } from '../secrets/credential-hash.ts';
import { xAccessTokenKey } from '../secrets/credential-keys.ts';
import type { AccessTokenVerifier } from './access-tokens.ts';
import { clientPrincipal } from './client-principal.ts';

/** The client that asked, and the key that its request was signed with. */
export interface XAccessTokenIssuer {
  readonly clientId: string;
  readonly secureKeyId?: string | undefined;
}

/** The tokens of Method B: asked for by a signed request, presented in `X-Access-Token`. */
export interface XAccessTokens {
  /** The token is nowhere but in the answer. Its lifetime is absolute. */
  issue(issuer: XAccessTokenIssuer, lifetimeSeconds: number): Promise<string>;
  /** The client with its device scopes as they are now. */
  readonly verify: AccessTokenVerifier;
}

const TOKEN_BYTES = 32;
const DEFAULT_MAXIMUM_LIVE_TOKENS = 1000;

/** A kind and a key prefix of its own: such a token is never found as a bearer token, nor the other way round. */
const KIND = 'XAccessToken';
const indexKeyOf = (clientId: string) => `x-access-tokens:${clientId}`;

const storedToken = z.object({
  kind: z.literal(KIND),
  clientId: z.string(),
  /** Epoch seconds, to be compared with the client's `notBefore`. */
  issuedAt: z.int(),
  /** Epoch milliseconds. */
  expiresAt: z.int(),
  secureKeyId: z.string().optional(),
});

/**
 * @param dependencies.maximumLiveTokens of one client. One more ends the one that would have expired first, so
 *   that what a client can fill of the store is bounded, and only its own tokens pay for it.
 */
export function createXAccessTokens(dependencies: {
  readonly store: Store;
  readonly credentialHash: CredentialHash;
  readonly findLiveHolder: FindLiveHolder;
  readonly onDamagedRecord?: OnDamagedRecord | undefined;
  readonly now: () => number;
  readonly maximumLiveTokens?: number;
}): XAccessTokens {
  const { store, credentialHash, findLiveHolder, onDamagedRecord, now } = dependencies;
  const record = { kind: 'X-Access-Token', ...(onDamagedRecord && { onDamagedRecord }) };
  const maximumLiveTokens = dependencies.maximumLiveTokens ?? DEFAULT_MAXIMUM_LIVE_TOKENS;

  async function endSurplus(indexKey: string, newest: string): Promise<void> {
    const others = (await store.members(indexKey)).filter((member) => member !== newest);
    const surplus = others.slice(0, Math.max(0, others.length + 1 - maximumLiveTokens));
    await store.delete(surplus.map(xAccessTokenKey));
    await Promise.all(surplus.map((member) => store.removeFromIndex(indexKey, member)));
  }

  return {
    async issue({ clientId, secureKeyId }, lifetimeSeconds) {
      const token = randomBytes(TOKEN_BYTES).toString('base64url');
      const hashed = credentialHash(token);
      const expiresAt = now() + lifetimeSeconds * 1000;
      const indexKey = indexKeyOf(clientId);
      // As old as the copy of the client that the request was verified with may be: a `notBefore` that was
      // written since then ends this token, too.
      const issuedAt = Math.floor((now() - MAXIMUM_RECORD_AGE_MILLISECONDS) / 1000);
      await store.addToIndex(indexKey, hashed, expiresAt);
      await store.set(
        xAccessTokenKey(hashed),
        JSON.stringify({ kind: KIND, clientId, issuedAt, expiresAt, secureKeyId }),
        lifetimeSeconds,
      );
      await endSurplus(indexKey, hashed);
      return token;
    },
    async verify(token) {
      const text = await store.get(xAccessTokenKey(credentialHash(token)));
      const stored = readRecord(text, (found) => parseRecord(storedToken, found), record);
      if (stored === undefined || stored.expiresAt <= now()) {
        return undefined;
      }
      const { issuedAt, clientId, secureKeyId } = stored;
      const client = (await findLiveHolder({ issuedAt, clientId, secureKeyId }))?.client;
      const hasCredentials = client !== undefined && client.sealedSecureKeys.length > 0;
      return hasCredentials ? clientPrincipal(client) : undefined;
    },
  };
}
