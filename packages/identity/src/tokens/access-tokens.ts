import type { Store } from '@gatehouse/store';
import { LRUCache } from 'lru-cache';
import { type OnDamagedRecord, readRecord } from '../records/record.ts';
import { createRecordCache } from '../records/record-cache.ts';
import {
  accessTokenKey,
  accessTokenKinds,
  type CredentialHash,
  grantTombstoneKey,
} from '../secrets/credential-keys.ts';
import type { FindLiveHolder } from './live-holder.ts';

/** The identity and the rights of a verified credential. */
export interface Principal {
  readonly clientId: string;
  /** The organization of the user, or of the client if there is no user. */
  readonly orgId: string;
  readonly userId: string | undefined;
  /** The `sub` for upstream services: the user, or the client if there is no user. */
  readonly subject: string;
  readonly scopes: ReadonlySet<string>;
}

/**
 * Returns undefined if the token is unknown, expired, revoked or not an access token.
 *
 * @throws StoreUnavailableError
 */
export type AccessTokenVerifier = (token: string) => Promise<Principal | undefined>;

/** The members of a stored access token that a verifier needs. */
export interface StoredAccessToken {
  readonly kind: string;
  readonly clientId: string;
  readonly accountId?: string;
  /** The consent that the token was issued under, if any. */
  readonly grantId?: string;
  readonly scope?: string;
  /** Epoch seconds. */
  readonly iat: number;
  readonly exp: number;
  readonly aud?: unknown;
  readonly secureKeyId?: string;
}

/** The number of tokens whose grant is cached, with about 2 MB. */
const MAXIMUM_KNOWN_GRANTS = 10_000;

export function createAccessTokenVerifier(dependencies: {
  readonly store: Store;
  readonly credentialHash: CredentialHash;
  readonly findLiveHolder: FindLiveHolder;
  readonly onDamagedRecord?: OnDamagedRecord | undefined;
  readonly now: () => number;
}): AccessTokenVerifier {
  const { store, credentialHash, findLiveHolder, onDamagedRecord, now } = dependencies;
  const tombstones = createRecordCache(store, (text) => text, now);
  // The grant of a token never changes. If it is known, both reads share one round trip.
  const knownGrants = new LRUCache<string, string>({ max: MAXIMUM_KNOWN_GRANTS });

  function readTombstone(grantId: string): Promise<string | undefined> {
    const tombstone = tombstones.read(grantTombstoneKey(grantId));
    // Not awaited if the token is invalid for another reason.
    tombstone.catch(() => undefined);
    return tombstone;
  }

  return async (token) => {
    const key = accessTokenKey(credentialHash(token));
    const knownGrant = knownGrants.get(key);
    let tombstone = knownGrant === undefined ? undefined : readTombstone(knownGrant);
    const stored = readRecord(await store.get(key), parseStoredToken, {
      kind: 'access token',
      key,
      onDamagedRecord,
    });
    if (stored === undefined || stored.exp * 1000 <= now()) {
      knownGrants.delete(key);
      return undefined;
    }
    const { clientId, accountId: userId, iat: issuedAt, secureKeyId, grantId } = stored;
    if (grantId !== undefined && grantId !== knownGrant) {
      knownGrants.set(key, grantId);
      tombstone = readTombstone(grantId);
    }
    const holder = await findLiveHolder({ issuedAt, clientId, userId, secureKeyId });
    if (holder?.client === undefined) {
      return undefined;
    }
    // Defense in depth: a revocation also deletes the token if the index of the grant contains it.
    if (tombstone !== undefined && (await tombstone) !== undefined) {
      return undefined;
    }
    const { client, user } = holder;
    return {
      clientId: client.clientId,
      orgId: user?.orgId ?? client.orgId,
      userId: user?.userId,
      subject: user?.userId ?? client.clientId,
      // Tokens lose the scopes that were removed from the client.
      scopes: new Set(stored.scope?.split(' ').filter((scope) => client.scopes.includes(scope))),
    };
  };
}

/** Fails closed: a damaged record, or a record of another kind, is not an access token. */
export function parseStoredToken(text: string): StoredAccessToken | undefined {
  let token: Partial<Record<keyof StoredAccessToken, unknown>> | null;
  try {
    token = JSON.parse(text);
  } catch {
    return undefined;
  }
  const isToken =
    typeof token === 'object' &&
    token !== null &&
    typeof token.kind === 'string' &&
    accessTokenKinds.has(token.kind) &&
    typeof token.clientId === 'string' &&
    (token.accountId === undefined || typeof token.accountId === 'string') &&
    (token.grantId === undefined || typeof token.grantId === 'string') &&
    (token.scope === undefined || typeof token.scope === 'string') &&
    (token.secureKeyId === undefined || typeof token.secureKeyId === 'string') &&
    Number.isSafeInteger(token.iat) &&
    Number.isSafeInteger(token.exp) &&
    token.aud === undefined;
  return isToken ? (token as StoredAccessToken) : undefined;
}
