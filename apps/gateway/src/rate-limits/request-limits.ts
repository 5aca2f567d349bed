/**
 * Rate limits: verified requests count against their client, all others against their address
 * group.
 *
 *   pipeline ─▶ request-limits (selects key and limit) ─▶ rate limiter (packages/store)
 *                ├ limit-headers (RateLimit, Retry-After)
 *                └ addressGroup (addresses that count together)
 *
 * Deliberately not here: sign-in attempts, which the authorization server counts.
 */
import type { FailureReasonName } from '@gatehouse/errors';
import { addressGroup } from '@gatehouse/server';
import {
  type BudgetParty,
  createRateLimiter,
  createStoreBudget,
  limitPolicy,
  type RateLimit,
  type RateLimiter,
  type Store,
  type Verdict,
} from '@gatehouse/store';
import type { Route } from '../routes/route.ts';
import { type AppliedLimit, tooManyRequests } from './limit-headers.ts';

export interface RequestLimits {
  /**
   * Runs before verification: the requests of an address that is known to exceed its limit cost no
   * more store reads. Requests with a credential are still verified until too many credentials of
   * that address were bad. Otherwise one caller could block all clients that share its address.
   *
   * @throws ApiError `too_many_requests`
   */
  assertAddressOpen(address: string, hasCredential: boolean, applied: AppliedLimit[]): void;
  /** Counts a request that was not verified. @throws ApiError `too_many_requests` */
  countAddress(address: string, hasCredential: boolean, applied: AppliedLimit[]): Promise<void>;
  /**
   * Counts a verified request for its client and, if the route has a limit, for its operation.
   * @throws ApiError `too_many_requests`
   */
  countClient(
    clientId: string,
    route: Route | undefined,
    applied: AppliedLimit[],
  ): Promise<void> | undefined;
}

/** The budgets of the signatures that a client and its organization can use. */
export interface SignatureBudget {
  /**
   * Runs before a signature is claimed, and counts nothing: an attacker who repeats the requests of
   * a client must not use up its budget.
   *
   * @throws ApiError `too_many_requests`
   */
  assertOpen(client: BudgetParty): void;
  /** Counts a claimed signature. @throws ApiError `too_many_requests` */
  count(client: BudgetParty): Promise<void>;
}

/**
 * The claims of a signed request and its reply, measured with version 1 in Redis: at most 440
 * bytes.
 */
const SIGNED_REQUEST_BYTES = 512;

interface NamedLimiter extends RateLimiter, Pick<AppliedLimit, 'name' | 'policy'> {}

/** The limit of bad credentials per address, as a multiple of its limit of requests. */
const BAD_CREDENTIALS_FACTOR = 10;

const reasons: ReadonlyMap<string, FailureReasonName> = new Map([
  ['client', 'client_rate_limit'],
  ['address', 'address_rate_limit'],
]);

export function createRequestLimits(dependencies: {
  readonly store: Store;
  readonly now: () => number;
  readonly client: RateLimit;
  readonly address: RateLimit;
  readonly routes: readonly Route[];
  /** Called with the limit that rejected a request. */
  readonly onRefused?: (limit: string) => void;
}): RequestLimits {
  const { now, routes, onRefused } = dependencies;
  const createNamedLimiter = (key: string, limit: RateLimit, name = key): NamedLimiter => ({
    ...createRateLimiter(key, limit, dependencies),
    name: `"${name}"`,
    policy: limitPolicy(`"${name}"`, limit),
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
      // Removes the quotation marks that the headers need.
      const limit = name.slice(1, -1);
      onRefused?.(limit);
      throw tooManyRequests(verdict, reasons.get(limit) ?? 'operation_rate_limit', now());
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
      const refused = addresses.knownRejection(group);
      const isClosed = !hasCredential || badCredentials.knownRejection(group) !== undefined;
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

/** See `SignatureBudget`. */
export function createSignatureBudget(dependencies: {
  readonly store: Store;
  readonly now: () => number;
  /** The longest lifetime of a claimed signature. */
  readonly windowSeconds: number;
  /** Called for each rejected request. */
  readonly onRefused?: (limit: string) => void;
}): SignatureBudget {
  const { now, onRefused } = dependencies;
  const record = { ...dependencies, bytes: SIGNED_REQUEST_BYTES };
  const budget = createStoreBudget('signed-requests', record, dependencies);

  function assertFits({ clientId }: BudgetParty, rejection: Verdict | undefined): void {
    if (rejection !== undefined) {
      onRefused?.('signature');
      throw tooManyRequests(rejection, 'stored_state_limit', now(), {
        clientId,
        message:
          'Too many signed requests: the used signatures of this client or its organization would ' +
          'take up too much of the store. Wait, or call with an access token.',
      });
    }
  }

  return {
    assertOpen: (client) => assertFits(client, budget.knownRejection(client)),
    count: async (client) => assertFits(client, await budget.take(client)),
  };
}
