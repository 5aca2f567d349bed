/**
 * How much a caller may ask: verified traffic by client, everything else by address.
 *
 *   pipeline ─▶ request-limits (which key, which limit) ─▶ rate limiter (packages/store: leases of a count)
 *                └ limit-headers (RateLimit, Retry-After)   addressGroup of http-server (which addresses count together)
 *
 * Deliberately not here: sign-in attempts, which the authorization server counts.
 */

import { addressGroup } from '@gatehouse/http-server';
import { createRateLimiter, type RateLimit, type RateLimiter, type Store } from '@gatehouse/store';
import type { Route } from '../routes/route.ts';
import { type AppliedLimit, limitPolicy, tooManyRequests } from './limit-headers.ts';

export interface RequestLimits {
  /**
   * Before anything is verified: an address that is known to be over its limit costs no store read more. But
   * a request that brings a credential is still verified, so that the noise of others behind an address does
   * not shut out its good clients, until too many credentials of that address were bad.
   *
   * @throws ApiError `too_many_requests`
   */
  assertAddressOpen(address: string, hasCredential: boolean, applied: AppliedLimit[]): void;
  /** Counts a request that was not verified. @throws ApiError `too_many_requests` */
  countAddress(address: string, hasCredential: boolean, applied: AppliedLimit[]): Promise<void>;
  /** Counts a verified request, for its client and, where the route has a limit, its operation. @throws likewise */
  countClient(
    clientId: string,
    route: Route | undefined,
    applied: AppliedLimit[],
  ): Promise<void> | undefined;
}

interface NamedLimiter extends RateLimiter, Pick<AppliedLimit, 'name' | 'policy'> {}

/** Of an address, this many times its limit of requests. */
const BAD_CREDENTIALS_FACTOR = 10;

export function createRequestLimits(dependencies: {
  readonly store: Store;
  readonly now: () => number;
  readonly client: RateLimit;
  readonly address: RateLimit;
  readonly routes: readonly Route[];
  /** Hears which limit a request was refused by. */
  readonly onRefused?: (limit: string) => void;
}): RequestLimits {
  const { now, routes, onRefused } = dependencies;
  const createNamedLimiter = (key: string, limit: RateLimit, name = key): NamedLimiter => ({
    ...createRateLimiter(key, limit, dependencies),
    name: `"${name}"`,
    policy: limitPolicy(name, limit),
  });
  const clients = createNamedLimiter('client', dependencies.client);
  const addresses = createNamedLimiter('address', dependencies.address);
  const badCredentials = createNamedLimiter('address-credentials', {
    ...dependencies.address,
    requests: dependencies.address.requests * BAD_CREDENTIALS_FACTOR,
  });
  const byRoute = new Map(
    routes.flatMap((route): [Route, NamedLimiter][] =>
      route.rateLimit === undefined
        ? []
        : [
            [
              route,
              createNamedLimiter(`operation:${route.operation}`, route.rateLimit, route.operation),
            ],
          ],
    ),
  );

  function note(
    { name, policy }: NamedLimiter,
    verdict: AppliedLimit['verdict'],
    applied: AppliedLimit[],
  ): void {
    applied.push({ name, policy, verdict });
    if (!verdict.allowed) {
      // The name is quoted, as the headers have it.
      onRefused?.(name.slice(1, -1));
      throw tooManyRequests(verdict, now());
    }
  }

  async function countRoute(clientId: string, route: Route, applied: AppliedLimit[]) {
    const limiter = byRoute.get(route);
    if (limiter !== undefined) {
      note(limiter, await limiter.take(clientId), applied);
    }
  }

  return {
    assertAddressOpen(address, hasCredential, applied) {
      const group = addressGroup(address);
      const refused = addresses.knownRefusal(group);
      const isClosed = !hasCredential || badCredentials.knownRefusal(group) !== undefined;
      if (refused !== undefined && isClosed) {
        note(addresses, refused, applied);
      }
    },
    async countAddress(address, hasCredential, applied) {
      const group = addressGroup(address);
      if (hasCredential) {
        await badCredentials.take(group);
      }
      note(addresses, await addresses.take(group), applied);
    },
    countClient(clientId, route, applied) {
      const verdict = clients.take(clientId);
      const hasOwn = route !== undefined && byRoute.has(route);
      if (verdict instanceof Promise) {
        return verdict.then((late) => {
          note(clients, late, applied);
          return hasOwn ? countRoute(clientId, route, applied) : undefined;
        });
      }
      note(clients, verdict, applied);
      return hasOwn ? countRoute(clientId, route, applied) : undefined;
    },
  };
}
