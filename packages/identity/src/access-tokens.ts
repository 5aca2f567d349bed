import type { Store } from '@gatehouse/store';
import type { Client } from './client.ts';
import type { CredentialHash } from './credential-hash.ts';
import { accessTokenKey, accessTokenKinds } from './credential-keys.ts';
import type { FindLiveHolder } from './live-holder.ts';

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
  readonly scope?: string;
  /** Epoch seconds. */
  readonly iat: number;
  readonly exp: number;
  readonly aud?: unknown;
  readonly secureKeyId?: string;
}

export function createAccessTokenVerifier(dependencies: {
  readonly store: Store;
  readonly credentialHash: CredentialHash;
  readonly findLiveHolder: FindLiveHolder;
  readonly now: () => number;
}): AccessTokenVerifier {
  const { store, credentialHash, findLiveHolder, now } = dependencies;
  return async (token) => {
    const stored = parseStoredToken(await store.get(accessTokenKey(credentialHash(token))));
    if (stored === undefined || stored.exp * 1000 <= now()) {
      return undefined;
    }
    const { clientId, accountId: userId, iat: issuedAt, secureKeyId } = stored;
    const holder = await findLiveHolder({ issuedAt, clientId, userId, secureKeyId });
    if (holder?.client === undefined) {
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
function parseStoredToken(text: string | undefined): StoredAccessToken | undefined {
  if (text === undefined) {
    return undefined;
  }
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
    (token.scope === undefined || typeof token.scope === 'string') &&
    (token.secureKeyId === undefined || typeof token.secureKeyId === 'string') &&
    Number.isSafeInteger(token.iat) &&
    Number.isSafeInteger(token.exp) &&
    token.aud === undefined
  );
}
