/**
 * How much a caller may ask: verified traffic by client, everything else by address.
 *
 *   pipeline ─▶ request-limits (which key, which limit) ─▶ rate limiter (packages/store: leases of a count)
 *                └ limit-headers (RateLimit, Retry-After)   address-group (who counts as one address)
 *
 * Deliberately not here: sign-in attempts, which the authorization server counts.
 */

import { createRateLimiter, type RateLimit, type RateLimiter, type Store } from '@gatehouse/store';
import type { Route } from '../routes/route.ts';
import { addressGroup } from './address-group.ts';
import { type AppliedLimit, tooManyRequests } from './limit-headers.ts';

export interface RequestLimits {
  /**
   * Before anything is verified: an address that is known to be over its limit costs no store read more.
   *
   * @throws ApiError `too_many_requests`
   */
  assertAddressOpen(address: string, applied: AppliedLimit[]): void;
  /** Counts a request that was not verified. @throws ApiError `too_many_requests` */
  countAddress(address: string, applied: AppliedLimit[]): Promise<void>;
  /** Counts a verified request, for its client and, where the route has a limit, its operation. @throws likewise */
  countClient(
    clientId: string,
    route: Route | undefined,
    applied: AppliedLimit[],
  ): Promise<void> | undefined;
}

export function createRequestLimits(dependencies: {
  readonly store: Store;
  readonly now: () => number;
  readonly client: RateLimit;
  readonly address: RateLimit;
  readonly routes: readonly Route[];
}): RequestLimits {
  const { now, routes } = dependencies;
  const limiterOf = (name: string, limit: RateLimit) =>
    createRateLimiter(name, limit, dependencies);
  const clients = limiterOf('client', dependencies.client);
  const addresses = limiterOf('address', dependencies.address);
  const ofRoute = new Map(
    routes.flatMap((route): [Route, RateLimiter][] =>
      route.rateLimit === undefined
        ? []
        : [[route, limiterOf(`operation:${route.operation}`, route.rateLimit)]],
    ),
  );

  function note(
    { limit }: RateLimiter,
    name: string,
    verdict: AppliedLimit['verdict'],
    applied: AppliedLimit[],
  ): void {
    applied.push({ name, limit, verdict });
    if (!verdict.allowed) {
      throw tooManyRequests(verdict, now());
    }
  }

  async function countRoute(clientId: string, route: Route, applied: AppliedLimit[]) {
    const limiter = ofRoute.get(route);
    if (limiter !== undefined) {
      note(limiter, route.operation, await limiter.take(clientId), applied);
    }
  }

  return {
    assertAddressOpen(address, applied) {
      const refused = addresses.knownRefusal(addressGroup(address));
      if (refused !== undefined) {
        note(addresses, 'address', refused, applied);
      }
    },
    async countAddress(address, applied) {
      note(addresses, 'address', await addresses.take(addressGroup(address)), applied);
    },
    countClient(clientId, route, applied) {
      const verdict = clients.take(clientId);
      const hasOwn = route !== undefined && ofRoute.has(route);
      if (verdict instanceof Promise) {
        return verdict.then((late) => {
          note(clients, 'client', late, applied);
          return hasOwn ? countRoute(clientId, route, applied) : undefined;
        });
      }
      note(clients, 'client', verdict, applied);
      return hasOwn ? countRoute(clientId, route, applied) : undefined;
    },
  };
}
