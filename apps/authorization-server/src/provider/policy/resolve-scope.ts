import { errors } from 'oidc-provider';

export interface ScopeRequest {
  readonly requested: unknown;
  /** What the client may have, separated by spaces. */
  readonly registered: string | undefined;
  /** What this grant never gives: OpenID Connect scopes mean a person. */
  readonly excluded: readonly string[];
}

/**
 * The scope a request gets: what it names, all of which must be allowed; or all that is allowed, when it names
 * none (RFC 6749 §3.3).
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
