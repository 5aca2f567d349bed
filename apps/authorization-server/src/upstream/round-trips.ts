/**
 * The way of a browser to an upstream provider and back:
 *
 *   begin ─▶ the browser keeps state, nonce and verifier, sealed for its sign-in ─▶ provider ─▶
 *   /upstream/{id}/callback ─▶ the sign-in that `state` names ─▶ finish: the same browser, the same
 *   provider, in time, and once
 *
 * The store remembers the state of a callback until its cookie expires, so that it works once. A limit
 * for each address bounds these records, and the requests to providers that strangers can cause.
 */
import { randomBytes, timingSafeEqual } from 'node:crypto';
import type { Identity, Upstream } from '@gatehouse/identity';
import { claimOnce } from '@gatehouse/store';
import { z } from 'zod';
import type { SealedCookies } from '../pages/sealed-cookies.ts';
import { TryLaterError } from '../requests/failures.ts';
import { addressLimit } from '../throttle/limits.ts';
import { createUpstreamAccounts } from './accounts.ts';
import { createUpstreamClients, UpstreamError } from './clients.ts';
import type { UpstreamIdentity } from './identity.ts';

/** How long a user may take at the provider. */
const ROUND_TRIP_SECONDS = 15 * 60;
/** How much earlier than ours the clock of a provider may be. */
const CLOCK_SECONDS = 60;

const storedRoundTrip = z.object({
  upstreamId: z.string(),
  /** Of the interaction, or of the session at the account page. */
  owner: z.string(),
  state: z.string(),
  nonce: z.string(),
  verifier: z.string(),
  maxAge: z.number().optional(),
  /** The application asked for a new sign-in (`prompt=login`). */
  isFresh: z.boolean(),
  /** Epoch seconds. */
  at: z.number(),
});

/** The callback belongs to no open round trip of this browser. */
export class RoundTripExpiredError extends Error {
  override name = 'RoundTripExpiredError';
}

/** What a sign-in asks of the provider. */
interface Wanted {
  readonly loginHint?: string | undefined;
  readonly maxAge?: number | undefined;
  readonly isFresh?: boolean;
}

/** Where the browser continues: the uid of an interaction, or the account page. */
export interface Place {
  readonly id: string;
  /** What else the round trip belongs to. */
  readonly owner?: string;
}

export const ACCOUNT_PLACE = 'account';
export const ACCOUNT_UPSTREAMS_PATH = '/account/upstreams';

export type UpstreamRoundTrips = ReturnType<typeof createUpstreamRoundTrips>;

type RoundTripDependencies = Parameters<typeof createUpstreamClients>[0] & {
  readonly identity: Identity;
  readonly cookies: SealedCookies;
};

/** The parts of a sign-in with an upstream provider. */
export const openUpstreams = (dependencies: RoundTripDependencies) => ({
  roundTrips: createUpstreamRoundTrips(dependencies),
  upstreamAccounts: createUpstreamAccounts(dependencies.identity),
});

function createUpstreamRoundTrips(dependencies: RoundTripDependencies) {
  const { identity, cookies } = dependencies;
  const { store, credentialHash } = identity;
  const clients = createUpstreamClients(dependencies);

  /**
   * One atomic claim: of concurrent callbacks, one continues.
   *
   * @throws TryLaterError
   */
  async function claimCallback(state: string, addressGroup: string): Promise<void> {
    const limitKey = `upstream-sign-ins:address:${addressGroup}`;
    const { attempts, windowSeconds } = addressLimit;
    const { count, resetsAt } = await store.increment(limitKey, windowSeconds);
    if (count > attempts) {
      throw new TryLaterError('sign_in_address_limit', resetsAt);
    }
    const key = `upstream-state:${credentialHash(state)}`;
    if (!(await claimOnce(store, key, ROUND_TRIP_SECONDS + CLOCK_SECONDS))) {
      throw new RoundTripExpiredError('the state was used before');
    }
  }

  return {
    /** @returns the address at the provider. @throws UpstreamError */
    async begin({ id, owner = '' }: Place, upstream: Upstream, wanted: Wanted): Promise<string> {
      const { loginHint, maxAge, isFresh = false } = wanted;
      const secret = () => randomBytes(32).toString('base64url');
      const secrets = { state: `${secret()}.${id}`, nonce: secret(), verifier: secret(), maxAge };
      const address = await clients.authorizationUrl(upstream, secrets, {
        ...(loginHint !== undefined && { login_hint: loginHint }),
        ...(isFresh && { prompt: 'login' }),
      });
      const at = Math.floor(Date.now() / 1000);
      const record: z.infer<typeof storedRoundTrip> = {
        ...{ ...secrets, upstreamId: upstream.id, owner, isFresh, at },
      };
      cookies.write(id, JSON.stringify(record), ROUND_TRIP_SECONDS);
      return address;
    },

    /**
     * @param callback its query, and the group of the address that sent it
     * @throws RoundTripExpiredError, UpstreamError, TryLaterError
     */
    async finish(
      { id, owner = '' }: Place,
      upstream: Upstream,
      { query, addressGroup }: { readonly query: URLSearchParams; readonly addressGroup: string },
    ): Promise<UpstreamIdentity> {
      const record = cookies.read(id);
      const roundTrip =
        record === undefined ? undefined : storedRoundTrip.parse(JSON.parse(record));
      const state = query.getAll('state').join();
      if (
        roundTrip?.upstreamId !== upstream.id ||
        roundTrip.owner !== owner ||
        Date.now() / 1000 - roundTrip.at > ROUND_TRIP_SECONDS ||
        !isEqual(state, roundTrip.state)
      ) {
        throw new RoundTripExpiredError('no open round trip has this state');
      }
      await claimCallback(state, addressGroup);
      cookies.clear(id);
      const found = await clients.identify(upstream, roundTrip, query);
      if (roundTrip.isFresh && (found.authTime ?? Infinity) < roundTrip.at - CLOCK_SECONDS) {
        throw new UpstreamError(`${upstream.id} did not ask the user to sign in again`);
      }
      return found;
    },
  };
}

/** The place that a callback names. The round trip in its cookie proves it. */
export function placeOf(query: URLSearchParams): string | undefined {
  return /^[\w-]{43}\.([\w-]{1,64})$/.exec(query.getAll('state').join())?.[1];
}

function isEqual(presented: string, expected: string): boolean {
  const [a, b] = [Buffer.from(presented), Buffer.from(expected)];
  return a.length === b.length && timingSafeEqual(a, b);
}
