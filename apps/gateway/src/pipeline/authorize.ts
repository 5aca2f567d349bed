import { ApiError } from '@gatehouse/errors';
import type { VerifiedRequest } from '../authentication/authenticator.ts';
import { bearerChallenge } from '../authentication/challenge.ts';
import type { Route } from '../routes/route.ts';

/**
 * Checks whether the caller may use the route. The device service decides who owns a device.
 *
 * @throws ApiError `unauthorized` for a kind of credential that the route does not accept,
 *   `access_denied` for a missing scope
 */
export function authorize(verified: VerifiedRequest, route: Route): void {
  if (!route.credentials.includes(verified.kind)) {
    throw new ApiError('unauthorized', {
      message: 'This operation does not accept this kind of credential.',
      headers: bearerChallenge(),
      reason: 'credential_kind_not_accepted',
    });
  }
  if (route.scope !== undefined && !verified.principal.scopes.has(route.scope)) {
    throw new ApiError('access_denied', {
      message: `This operation needs the scope ${route.scope}.`,
      headers: bearerChallenge('insufficient_scope', route.scope),
      finding: `The operation needs the scope ${route.scope}.`,
    });
  }
}
