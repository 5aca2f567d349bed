import type { Store } from '@gatehouse/store';
import { LRUCache } from 'lru-cache';
import type { Client } from '../clients/client.ts';
import type { ClientRegistry } from '../clients/clients.ts';
import { createRecordCache, readRecord } from '../records/record.ts';
import { withRecordLock } from '../records/record-lock.ts';
import { accessTokenKey, accessTokenKinds, grantTombstoneKey } from '../secrets/credential-keys.ts';
import type { SecretDependencies } from '../secrets/seal.ts';
import { findResource, isScopeForRoles, scopesOfResource } from '../settings/scopes.ts';
import type { Settings, SettingsRegistry } from '../settings/settings.ts';
import { isAcrEnough } from '../users/authentication-context.ts';
import type { User } from '../users/user.ts';
import type { UserRegistry } from '../users/users.ts';

/** The identity and the rights of a verified credential. */
export interface Principal {
  readonly clientId: string;
  /** The organization of the user, or of the client if there is no user. */
  readonly orgId: string;
  readonly userId: string | undefined;
  /** Undefined for a machine. */
  readonly user: User | undefined;
  /** How the user signed in. Undefined for a machine, and unknown for tokens of earlier releases. */
  readonly signIn: SignIn | undefined;
  /** The `sub` for upstream services: the user, or the client if there is no user. */
  readonly subject: string;
  readonly scopes: ReadonlySet<string>;
  /** Identifies the API that the credential is for. Undefined: the device API. */
  readonly resource: string | undefined;
}

/**
 * Returns undefined if the token is unknown, expired, revoked or not an access token.
 *
 * @throws StoreUnavailableError
 */
export type AccessTokenVerifier = (token: string) => Promise<Principal | undefined>;

/** OpenID Connect Core §2: `auth_time` (epoch seconds), `acr` and `amr`. */
interface SignIn {
  readonly authTime?: number;
  readonly acr?: string;
  readonly amr?: readonly string[];
  /** Of the browser in which the user signed in. For the library only. */
  readonly sessionUid?: string;
}

/** The members of a stored access token that a verifier needs. */
export interface StoredAccessToken extends SignIn {
  readonly kind: string;
  readonly clientId: string;
  readonly accountId?: string;
  /** The consent that the token was issued under, if any. */
  readonly grantId?: string;
  readonly scope?: string;
  /** Epoch seconds. */
  readonly iat: number;
  readonly exp: number;
  /** The resource. Tokens that named none have none, and are for the device API. */
  readonly aud?: string;
  readonly secureKeyId?: string;
}

/** The number of tokens whose grant is cached, with about 2 MB. */
const MAXIMUM_KNOWN_GRANTS = 10_000;

export interface TokenDependencies extends SecretDependencies {
  readonly findLiveHolder: FindLiveHolder;
  readonly settings: SettingsRegistry;
}

/** @param keyOf where the records of the tokens are */
export function createAccessTokenVerifier(
  dependencies: TokenDependencies & { readonly tokenPrincipals: TokenPrincipals },
  keyOf = accessTokenKey,
): AccessTokenVerifier {
  const { store, credentialHash, tokenPrincipals, onDamagedRecord, now } = dependencies;
  const { readTombstone, principalOf } = tokenPrincipals;
  // The grant of a token never changes. If it is known, both reads share one round trip.
  const knownGrants = new LRUCache<string, string>({ max: MAXIMUM_KNOWN_GRANTS });

  return async (token) => {
    const key = keyOf(credentialHash(token));
    const knownGrant = knownGrants.get(key);
    let tombstone = knownGrant === undefined ? undefined : readTombstone(knownGrant);
    const stored = readRecord(await store.get(key), parseStoredToken, () =>
      onDamagedRecord?.('access token', key),
    );
    if (stored === undefined || stored.exp * 1000 <= now()) {
      knownGrants.delete(key);
      return undefined;
    }
    const { grantId } = stored;
    if (grantId !== undefined && grantId !== knownGrant) {
      knownGrants.set(key, grantId);
      tombstone = readTombstone(grantId);
    }
    return principalOf(stored, tombstone);
  };
}

export type TokenPrincipals = ReturnType<typeof createTokenPrincipals>;

/** The rights of a genuine token that has not expired, whatever its form. */
export function createTokenPrincipals({ store, findLiveHolder, settings, now }: TokenDependencies) {
  const tombstones = createRecordCache(store, (text) => text, now);

  function readTombstone(grantId: string): Promise<string | undefined> {
    const tombstone = tombstones.read(grantTombstoneKey(grantId));
    // Not awaited if the token is invalid for another reason.
    tombstone.catch(() => undefined);
    return tombstone;
  }

  /** Undefined if the token was revoked, or its tombstone exists. */
  async function principalOf(
    stored: StoredAccessToken,
    tombstone: Promise<string | undefined> | undefined,
  ): Promise<Principal | undefined> {
    const { clientId, accountId: userId, iat: issuedAt, secureKeyId } = stored;
    const holder = await findLiveHolder({ issuedAt, clientId, userId, secureKeyId });
    // Tombstones are defense in depth: a revocation also deletes the tokens in the index of a grant.
    if (holder?.client === undefined || (tombstone && (await tombstone) !== undefined)) {
      return undefined;
    }
    const { client, user } = holder;
    // Tokens lose the scopes that were removed from the client.
    const scopes = stored.scope?.split(' ').filter((scope) => client.scopes.includes(scope)) ?? [];
    const { aud: resource } = stored;
    return {
      clientId: client.clientId,
      orgId: user?.orgId ?? client.orgId,
      userId: user?.userId,
      user,
      signIn: user && stored,
      subject: user?.userId ?? client.clientId,
      scopes: new Set(
        resource === undefined
          ? scopes
          : currentScopes(scopes, stored, user, await settings.read()),
      ),
      resource,
    };
  }

  return { readTombstone, principalOf };
}

/** The scopes that the resource still declares, for the roles that the user still has. */
function currentScopes(
  scopes: readonly string[],
  { aud = '', acr }: StoredAccessToken,
  user: User | undefined,
  settings: Settings,
): readonly string[] {
  const declared = findResource(aud, settings)?.resource;
  return scopesOfResource(scopes, declared, settings).filter(
    (scope) =>
      user === undefined ||
      (isScopeForRoles(scope, user.roles, settings) && isAcrEnough(acr, declared, settings)),
  );
}

const optionalTexts = [
  'accountId',
  'grantId',
  'scope',
  'secureKeyId',
  'acr',
  'sessionUid',
  'aud',
] as const;

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
    optionalTexts.every((name) => ['undefined', 'string'].includes(typeof token[name])) &&
    (token.authTime === undefined || Number.isSafeInteger(token.authTime)) &&
    (token.amr === undefined || Array.isArray(token.amr)) &&
    Number.isSafeInteger(token.iat) &&
    Number.isSafeInteger(token.exp) &&
    token.aud !== '';
  return isToken ? (token as StoredAccessToken) : undefined;
}

/** Describes a token, code, session or grant. */
interface IssuedCredential {
  /** Epoch seconds. */
  readonly issuedAt: number;
  readonly clientId?: string | undefined;
  readonly userId?: string | undefined;
  /** The secure key that the client authenticated with, if any. */
  readonly secureKeyId?: string | undefined;
}

/**
 * Finds the client and the user that a credential names. Returns undefined if the credential is
 * invalid for one of these reasons:
 *
 * - Its client or user is unknown or disabled, or has a later not-before.
 * - The installation has a later not-before.
 * - The client no longer has the key that the credential was issued with.
 * - The client accepts only users of its organization, and the user belongs to another.
 *
 * Reads copies that are at most 50 ms old.
 */
export type FindLiveHolder = ReturnType<typeof createLiveHolders>;

export function createLiveHolders(
  clients: ClientRegistry,
  users: Pick<UserRegistry, 'find'>,
  notBefore: NotBefore,
) {
  return async ({ issuedAt, clientId, userId, secureKeyId }: IssuedCredential) => {
    if (issuedAt <= (await notBefore.read())) {
      return undefined;
    }
    const client = clientId === undefined ? undefined : await clients.find(clientId);
    const user = userId === undefined ? undefined : await users.find(userId);
    const isLive = (holder: Client | User | undefined) =>
      holder?.enabled === true && issuedAt > holder.notBefore;
    const isRevoked =
      (clientId !== undefined && !isLive(client)) || (userId !== undefined && !isLive(user));
    const isForeign =
      client?.ownOrganizationOnly === true && user !== undefined && user.orgId !== client.orgId;
    const isOfRemovedKey =
      secureKeyId !== undefined &&
      (client === undefined || !clients.isLiveKey(client, secureKeyId));
    return isRevoked || isForeign || isOfRemovedKey ? undefined : { client, user };
  };
}

const KEY = 'not-before';

/** A damaged not-before revokes everything until an operator sets it again. */
const parse = (text: string) => (/^\d{1,12}$/.test(text) ? Number(text) : Number.POSITIVE_INFINITY);

export type NotBefore = ReturnType<typeof createNotBefore>;

/** Revokes all credentials of the installation that were issued at this time or earlier. */
export function createNotBefore(store: Store, now: () => number) {
  const cache = createRecordCache(store, parse, now);
  return {
    /** Epoch seconds. The copy is at most 50 ms old. */
    read: async (): Promise<number> => (await cache.read(KEY)) ?? 0,
    /** Ignores earlier times. */
    advance: (notBefore: number): Promise<void> =>
      withRecordLock(store, KEY, async (assertHeld) => {
        const existing = parse((await store.get(KEY)) ?? '0');
        assertHeld();
        if (notBefore > existing || !Number.isFinite(existing)) {
          await store.set(KEY, String(notBefore), undefined, { revokes: true });
        }
        cache.forget(KEY);
      }),
  };
}
