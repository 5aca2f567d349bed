import { errors } from 'oidc-provider';
import type { SecurityProfile } from './grant-types.ts';

export interface ScopeRequest {
  readonly requested: unknown;
  /** The registered scopes of the client, separated by spaces. */
  readonly registered: string | undefined;
  /** Scopes that this request never grants: OpenID Connect scopes need a user. */
  readonly excluded: readonly string[];
  readonly securityProfile: SecurityProfile;
}

/** RFC 6749 §3.3. */
const SCOPE_TOKEN = /^[\x21\x23-\x5B\x5D-\x7E]+$/;

/**
 * The granted scope: the requested scopes that are allowed, or all allowed scopes if the request
 * names none (RFC 6749 §3.3). Other scopes are ignored (OpenID Connect Core §3.1.2.1). The `strict`
 * profile rejects them.
 *
 * @throws InvalidScope for a malformed scope, or with the first scope that is unknown or not
 * allowed
 */
export function resolveScope(request: ScopeRequest): string {
  const { requested, excluded, securityProfile } = request;
  const allowed = splitScope(request.registered).filter((scope) => !excluded.includes(scope));
  if (requested === undefined) {
    return allowed.join(' ');
  }
  const isStrict = securityProfile === 'strict';
  const asked = [...new Set(isStrict ? String(requested).split(' ') : splitScope(requested))];
  if (asked.some((scope) => scope !== '' && !SCOPE_TOKEN.test(scope))) {
    throw new errors.InvalidScope('scope contains invalid characters', '');
  }
  const granted = asked.filter((scope) => allowed.includes(scope));
  if (granted.length === 0 || (isStrict && granted.length < asked.length)) {
    const rejected = asked.find((scope) => !allowed.includes(scope)) ?? '';
    throw new errors.InvalidScope('requested scope is not allowed', rejected);
  }
  return granted.join(' ');
}

function splitScope(scope: unknown): readonly string[] {
  return String(scope ?? '')
    .split(' ')
    .filter((each) => each !== '');
}
