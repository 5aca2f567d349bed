import { ApiError } from '@gatehouse/api-envelope';
import type { VerifiedRequest } from '../authentication/authenticator.ts';
import { bearerChallenge } from '../authentication/challenge.ts';
import type { Route } from '../routes/route.ts';

/**
 * Whether this caller may use this route. Whose device it is, the device service decides.
 *
 * @throws ApiError `unauthorized` for a kind of credential the route does not take, `access_denied` for a
 *   missing scope
 */
export function authorize(verified: VerifiedRequest, route: Route): void {
  if (!route.credentials.includes(verified.kind)) {
    throw new ApiError('unauthorized', {
      message: 'This operation takes another kind of credential.',
      headers: bearerChallenge(),
    });
  }
  if (route.scope !== undefined && !verified.principal.scopes.has(route.scope)) {
    throw new ApiError('access_denied', {
      message: `This operation needs the scope ${route.scope}.`,
      headers: bearerChallenge('insufficient_scope', route.scope),
    });
  }
}
