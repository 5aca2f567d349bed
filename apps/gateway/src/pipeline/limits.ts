/**
 * Rate limits: verified requests count against their client, all others against their address group
 * (addresses that count together). `packages/store` counts. Deliberately not here: sign-in attempts,
 * which the authorization server counts.
 */
import { ApiError, type FailureReasonName } from '@gatehouse/errors';
import type { Client } from '@gatehouse/identity';
import { addressGroup } from '@gatehouse/server';
import {
  createRateLimiter,
  createStoreBudget,
  limitPolicy,
  limitState,
  type RateLimit,
  type RateLimiter,
  retryAfter,
  type Store,
  type Verdict,
} from '@gatehouse/store';
import type { GatewayMetrics } from '../metrics.ts';
import type { Route } from '../routes/route.ts';

/** One limit that a request was counted against. */
export interface AppliedLimit {
  /** In quotation marks, as in the headers. */
  readonly name: string;
  readonly policy: string;
  readonly verdict: Verdict;
}

export type RequestLimits = ReturnType<typeof createRequestLimits>;

interface NamedLimiter extends RateLimiter, Pick<AppliedLimit, 'name' | 'policy'> {}

/** The limit of bad credentials per address, as a multiple of its limit of requests. */
const BAD_CREDENTIALS_FACTOR = 10;

const reasons: ReadonlyMap<string, FailureReasonName> = new Map([
  ['client', 'client_rate_limit'],
  ['address', 'address_rate_limit'],
]);

interface Dependencies {
  readonly store: Store;
  readonly now: () => number;
  readonly metrics: Pick<GatewayMetrics, 'limited'>;
}

export function createRequestLimits(
  dependencies: Dependencies & {
    readonly clientRateLimit: RateLimit;
    readonly addressRateLimit: RateLimit;
    readonly routes: readonly Route[];
  },
) {
  const { now, routes, metrics, clientRateLimit, addressRateLimit } = dependencies;
  const createNamedLimiter = (key: string, limit: RateLimit, name = key): NamedLimiter => ({
    ...createRateLimiter(key, limit, dependencies),
    name: `"${name}"`,
    policy: limitPolicy(`"${name}"`, limit),
  });
  const clients = createNamedLimiter('client', clientRateLimit);
  const addresses = createNamedLimiter('address', addressRateLimit);
  const badCredentials = createNamedLimiter('address-credentials', {
    ...addressRateLimit,
    requests: addressRateLimit.requests * BAD_CREDENTIALS_FACTOR,
  });
  const byRoute = new Map<Route, NamedLimiter>();
  for (const route of routes) {
    const { operation: name, rateLimit } = route;
    if (rateLimit !== undefined) {
      byRoute.set(route, createNamedLimiter(`operation:${name}`, rateLimit, name));
    }
  }

  function note(
    { name, policy }: NamedLimiter,
    verdict: Verdict,
    applied: AppliedLimit[],
  ): undefined {
    applied.push({ name, policy, verdict });
    if (!verdict.allowed) {
      // Removes the quotation marks that the headers need.
      const limit = name.slice(1, -1);
      metrics.limited(limit);
      const reason = reasons.get(limit) ?? 'operation_rate_limit';
      throw tooManyRequests(verdict, now(), { reason });
    }
  }

  async function countBoth(
    clientId: string,
    verdict: Verdict | Promise<Verdict>,
    ofRoute: NamedLimiter | undefined,
    applied: AppliedLimit[],
  ): Promise<void> {
    note(clients, await verdict, applied);
    if (ofRoute !== undefined) {
      note(ofRoute, await ofRoute.take(clientId), applied);
    }
  }

  return {
    /**
     * Runs before verification: the requests of an address that is known to exceed its limit cost
     * no more store reads. Requests with a credential are still verified until too many credentials
     * of that address were bad. Otherwise one caller could block all clients that share its address.
     *
     * @throws ApiError `too_many_requests`
     */
    assertAddressOpen(address: string, hasCredential: boolean, applied: AppliedLimit[]): void {
      const group = addressGroup(address);
      const refused = addresses.knownRejection(group);
      const isClosed = !hasCredential || badCredentials.knownRejection(group) !== undefined;
      if (refused !== undefined && isClosed) {
        note(addresses, refused, applied);
      }
    },
    /** Counts a request that was not verified. @throws ApiError `too_many_requests` */
    async countAddress(
      address: string,
      hasCredential: boolean,
      applied: AppliedLimit[],
    ): Promise<void> {
      const group = addressGroup(address);
      if (hasCredential) {
        await badCredentials.take(group);
      }
      note(addresses, await addresses.take(group), applied);
    },
    /**
     * Counts a verified request for its client and, if the route has a limit, for its operation.
     *
     * @throws ApiError `too_many_requests`
     */
    countClient(
      clientId: string,
      route: Route | undefined,
      applied: AppliedLimit[],
    ): Promise<void> | undefined {
      const ofRoute = route && byRoute.get(route);
      const verdict = clients.take(clientId);
      return verdict instanceof Promise || ofRoute !== undefined
        ? countBoth(clientId, verdict, ofRoute, applied)
        : note(clients, verdict, applied);
    },
  };
}

/**
 * The claims of a signed request and of its reply, which a success does not need. Measured with
 * version 1 in Redis: at most 440 bytes.
 */
const SIGNED_REQUEST_BYTES = 512;

/** The budgets of the signatures that a client and its organization can use. */
export function createSignatureBudget(
  dependencies: Dependencies & {
    /** The longest lifetime of a claimed signature. */
    readonly windowSeconds: number;
  },
) {
  const { now, metrics } = dependencies;
  const record = { ...dependencies, bytes: SIGNED_REQUEST_BYTES };
  const budget = createStoreBudget('signed-requests', record, dependencies);

  function assertFits(clientId: string, rejection: Verdict | undefined): void {
    if (rejection !== undefined) {
      metrics.limited('signature');
      throw tooManyRequests(rejection, now(), {
        reason: 'stored_state_limit',
        clientId,
        message:
          'Too many signed requests: the used signatures of this client or its organization would ' +
          'take up too much of the store. Wait, or call with an access token.',
      });
    }
  }

  return {
    /**
     * Runs before a signature is claimed, and counts nothing: an attacker who repeats the requests of
     * a client must not use up its budget.
     *
     * @throws ApiError `too_many_requests`
     */
    assertOpen: (client: Client): void =>
      assertFits(client.clientId, budget.knownRejection(client)),
    /** Counts a claimed signature. @throws ApiError `too_many_requests` */
    count: async (client: Client): Promise<void> =>
      assertFits(client.clientId, await budget.take(client)),
  };
}

function tooManyRequests(
  verdict: Verdict,
  now: number,
  details: {
    readonly reason: FailureReasonName;
    readonly clientId?: string;
    readonly message?: string;
  },
): ApiError {
  const headers = { 'Retry-After': retryAfter(verdict, now) };
  return new ApiError('too_many_requests', { ...details, headers });
}

/** Adds `RateLimit-Policy` and `RateLimit`. */
export function addLimitHeaders(
  headers: string[],
  applied: readonly AppliedLimit[],
  now: number,
): void {
  if (applied.length === 0) {
    return;
  }
  const policies = applied.map(({ policy }) => policy);
  const states = applied.map(({ name, verdict }) => limitState(name, verdict, now));
  headers.push('RateLimit-Policy', policies.join(', '), 'RateLimit', states.join(', '));
}
