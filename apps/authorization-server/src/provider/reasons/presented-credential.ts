import type { IncomingMessage } from 'node:http';
import type { AdapterPayload } from 'oidc-provider';
import { currentContext } from '../patches/current-context.ts';

/** The record of the code or token that a request presents. */
export interface PresentedCredential {
  readonly clientId: string | undefined;
  readonly userId: string | undefined;
  readonly grantId: string | undefined;
  /** The redirect URI of the authorization request. Only codes have one. */
  readonly redirectUri: string | undefined;
  /**
   * Whether its user, client, secure key or consent was revoked. The library then treats it as
   * unknown.
   */
  readonly isRevoked: boolean;
}

const models: ReadonlySet<string> = new Set(['AuthorizationCode', 'RefreshToken', 'DeviceCode']);

const credentials = new WeakMap<IncomingMessage, PresentedCredential>();

export const presentedCredentialOf = (request: IncomingMessage) => credentials.get(request);

/**
 * Remembers the record that the adapter has read, so that an error can be explained without another
 * read of the store. A replayed credential is deleted together with its grant before its error is
 * handled.
 */
export function rememberCredential(
  model: string,
  { clientId, accountId: userId, grantId, redirectUri }: AdapterPayload,
  isRevoked: boolean,
): void {
  const context = currentContext();
  if (context !== undefined && models.has(model)) {
    credentials.set(context.req, { clientId, userId, grantId, redirectUri, isRevoked });
  }
}
