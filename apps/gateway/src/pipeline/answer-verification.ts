import type { ForwardAuth } from '../forward-auth/forward-auth.ts';
import { forwardAuthOperation } from '../forward-auth/required-scope.ts';
import { assertSameParameters, assertVerifiable } from '../forward-auth/verifiable-credentials.ts';
import type { Reply } from '../http/reply.ts';
import { routeOf } from '../routes/entries.ts';
import { type AdmissionDependencies, admit, type RequestState } from './admit.ts';
import { assertServedMethod, assertUnambiguous } from './assert-servable.ts';
import { authorize } from './authorize.ts';
import { unrouted } from './unrouted.ts';

/**
 * Answers a proxy that asks whether it may forward a request: the stages of a request that the
 * gateway forwards, up to authorize. Nothing answers before authentication. Otherwise a 204 for a
 * preflight would tell the proxy to forward the request.
 *
 * @throws ApiError
 */
export async function answerVerification(
  state: RequestState,
  forwardAuth: ForwardAuth,
  dependencies: AdmissionDependencies,
): Promise<Reply> {
  const { message, notes } = state;
  notes.operation = forwardAuthOperation;
  assertUnambiguous(message);
  const { original, required } = forwardAuth.read(message);
  const { method, target } = original;
  assertServedMethod(method);
  notes.method = method;
  // A trailing slash counts: the proxy does not remove it when it forwards the request.
  const found = dependencies.router.find(method, target);
  const match = required === undefined ? found : { entry: required };
  const verified = await admit(
    state,
    {
      method,
      target,
      match,
      assertAcceptable: (credentials) => assertVerifiable(credentials, method),
    },
    dependencies,
  );
  assertSameParameters(target.query, verified.query);
  const route = routeOf(match);
  if (route?.upstream === undefined) {
    throw unrouted(match);
  }
  authorize(verified, route);
  return forwardAuth.permit(verified.principal, route.upstream);
}
