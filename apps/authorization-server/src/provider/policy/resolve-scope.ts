import { errors } from 'oidc-provider';

export interface ScopeRequest {
  readonly requested: unknown;
  /** The registered scopes of the client, separated by spaces. */
  readonly registered: string | undefined;
  /** Scopes that this grant type never gives: OpenID Connect scopes need a user. */
  readonly excluded: readonly string[];
}

/**
 * The granted scope: the requested scopes, all of which must be allowed, or all allowed scopes if the request names none
 * (RFC 6749 §3.3).
 *
 * @throws InvalidScope naming the first scope that is unknown or not allowed
 */
export function resolveScope(request: ScopeRequest): string {
  const allowed = (request.registered ?? '')
    .split(' ')
    .filter((scope) => scope !== '' && !request.excluded.includes(scope));
  if (request.requested === undefined) {
    return allowed.join(' ');
  }
  const requested = [...new Set(String(request.requested).split(' '))];
  const refused = requested.find((scope) => !allowed.includes(scope));
  if (refused !== undefined) {
    throw new errors.InvalidScope('requested scope is not allowed', refused);
  }
  return requested.join(' ');
}
