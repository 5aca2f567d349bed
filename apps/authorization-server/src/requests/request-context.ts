import type { IncomingMessage } from 'node:http';
import type { Identity, Settings } from '@gatehouse/identity';
import { StoreUnavailableError } from '@gatehouse/store';
import type { RequestHandler } from 'express';

/** How a request authenticated its client, or presented its token. A label of log and metrics. */
export const clientCredentialKinds = ['basic', 'body', 'assertion', 'bearer'] as const;

/** What the server learns about a request while it serves it, for later steps of the same request. */
export interface RequestContext {
  /** The settings when the request arrived. Undefined if the store was unavailable. */
  settings?: Settings | undefined;
  /** The organization whose brand its page has. Undefined for that of the installation. */
  orgId?: string;
  /** It came to the platform endpoint, and continues as a request to /token. */
  isPlatform?: boolean;
  /** The client id that a request to a client endpoint presented, whether it is registered or not. */
  presentedClientId?: string;
  /** It named a client that is registered but disabled. For the log only. */
  isClientDisabled?: boolean;
  /** The id of the secure key or public key that the client proved. Undefined if it proved none. */
  secureKeyId?: string | undefined;
  /** The id of the public key of its client assertion, whose `jti` may have been used before. */
  assertedKeyId?: string;
  /** It asks for `offline_access`, which can be granted. */
  isOffline?: boolean;
  /** It got the only redirect URI of its client. */
  isRedirectUriOmitted?: boolean;
  /** The session's grant for the client, before the grant of a device replaces it. */
  sessionGrantId?: string | undefined;
  /** The client whose metadata document it read, or is reading. */
  readDocument?: { readonly clientId: string; readonly isReading: boolean };
  /** The record of the code or token that it presents. */
  credential?: {
    readonly clientId: string | undefined;
    readonly userId: string | undefined;
    readonly grantId: string | undefined;
    /** Epoch seconds. */
    readonly expiresAt: number | undefined;
    /**
     * Whether its user, client, secure key or consent was revoked. The library then treats it as
     * unknown.
     */
    readonly isRevoked: boolean;
  };
  /** The credentials that it redeemed: the key of each record, and its seconds to live. */
  redeemed?: Map<string, number>;
  /** The pending claim of the refresh token that it redeemed. */
  refreshClaim?: { readonly key: string; readonly holder: string };
}

const context = Symbol('context');

/** The context of a request. It is created at its first use. */
export function contextOf(
  request: IncomingMessage & { [context]?: RequestContext },
): RequestContext {
  request[context] ??= {};
  return request[context];
}

/** Documents and errors need no settings, so they are served while the store is unavailable. */
export function readSettings({ settings }: Pick<Identity, 'settings'>): RequestHandler {
  return async (request, _response, next) => {
    contextOf(request).settings = await settings.read().catch((error: unknown) => {
      if (!(error instanceof StoreUnavailableError)) {
        throw error;
      }
      return undefined;
    });
    await next();
  };
}
