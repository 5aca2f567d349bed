import type { Store } from '@gatehouse/store';
import { LRUCache } from 'lru-cache';
import type { Client } from '../clients/client.ts';
import { type OnDamagedRecord, readRecord } from '../records/damaged-record.ts';
import { createRecordCache } from '../records/record-cache.ts';
import type { FindLiveHolder } from '../revocation/live-holder.ts';
import type { CredentialHash } from '../secrets/credential-hash.ts';
import { accessTokenKey, accessTokenKinds, grantTombstoneKey } from '../secrets/credential-keys.ts';

/** Who a verified credential speaks for, and what it may do. */
export interface Principal {
  readonly clientId: string;
  /** The organisation of the user where there is one, else of the client. */
  readonly orgId: string;
  readonly userId: string | undefined;
  /** `sub` for those behind the gateway: the user, else the client. */
  readonly subject: string;
  readonly scopes: ReadonlySet<string>;
}

/** Undefined: unknown, expired, revoked, or not an access token. A store that is away throws. */
export type AccessTokenVerifier = (token: string) => Promise<Principal | undefined>;

/** What the authorization server stores of an access token, as far as a verifier needs it. */
interface StoredAccessToken {
  readonly kind: string;
  readonly clientId: string;
  readonly accountId?: string;
  /** What the user allowed, where the token comes from that. */
  readonly grantId?: string;
  readonly scope?: string;
  /** Epoch seconds. */
  readonly iat: number;
  readonly exp: number;
  readonly aud?: unknown;
  readonly secureKeyId?: string;
}

/** How many tokens have their grant remembered: about 2 MB. */
const MAXIMUM_KNOWN_GRANTS = 10_000;

export function createAccessTokenVerifier(dependencies: {
  readonly store: Store;
  readonly credentialHash: CredentialHash;
  readonly findLiveHolder: FindLiveHolder;
  readonly onDamagedRecord?: OnDamagedRecord | undefined;
  readonly now: () => number;
}): AccessTokenVerifier {
  const { store, credentialHash, findLiveHolder, onDamagedRecord, now } = dependencies;
  const record = { kind: 'access token', ...(onDamagedRecord && { onDamagedRecord }) };
  const tombstones = createRecordCache(store, (text) => text, now);
  // A token never changes its grant. Once it is known, both reads go out together: one round trip a verification.
  const knownGrants = new LRUCache<string, string>({ max: MAXIMUM_KNOWN_GRANTS });

  function readTombstone(grantId: string): Promise<string | undefined> {
    const tombstone = tombstones.read(grantTombstoneKey(grantId));
    // It is awaited later, unless the token turns out to be dead before.
    tombstone.catch(() => undefined);
    return tombstone;
  }

  return async (token) => {
    const key = accessTokenKey(credentialHash(token));
    const knownGrant = knownGrants.get(key);
    let tombstone = knownGrant === undefined ? undefined : readTombstone(knownGrant);
    const stored = readRecord(await store.get(key), parseStoredToken, record);
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
    // A second line of defence: a revocation also deletes the token, if the index of the grant names it.
    if (tombstone !== undefined && (await tombstone) !== undefined) {
      return undefined;
    }
    const { client, user } = holder;
    return {
      clientId: client.clientId,
      orgId: user?.orgId ?? client.orgId,
      userId: user?.userId,
      subject: user?.userId ?? client.clientId,
      // What was taken from the client since is taken from its tokens, too.
      scopes: new Set(stored.scope?.split(' ').filter((scope) => isRegistered(client, scope))),
    };
  };
}

function isRegistered(client: Client, scope: string): boolean {
  return client.scopes.includes(scope);
}

/** A record that is damaged or of another kind is no access token: fail closed. */
function parseStoredToken(text: string): StoredAccessToken | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isStoredAccessToken(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function isStoredAccessToken(value: unknown): value is StoredAccessToken {
  if (typeof value !== 'object' || value === null) {
    return false;
  }
  const token = value as Partial<Record<keyof StoredAccessToken, unknown>>;
  return (
    typeof token.kind === 'string' &&
    accessTokenKinds.has(token.kind) &&
    typeof token.clientId === 'string' &&
    (token.accountId === undefined || typeof token.accountId === 'string') &&
    (token.grantId === undefined || typeof token.grantId === 'string') &&
    (token.scope === undefined || typeof token.scope === 'string') &&
    (token.secureKeyId === undefined || typeof token.secureKeyId === 'string') &&
    Number.isSafeInteger(token.iat) &&
    Number.isSafeInteger(token.exp) &&
    token.aud === undefined
  );
}
