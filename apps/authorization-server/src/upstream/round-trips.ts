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
import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Identity, Upstream } from '@gatehouse/identity';
import { claimOnce } from '@gatehouse/store';
import { z } from 'zod';
import type { SealedCookies } from '../pages/sealed-cookies.ts';
import { addressGroupOf } from '../requests/caller.ts';
import { TryLaterError } from '../requests/failures.ts';
import { addressLimit } from '../throttle/limits.ts';
import {
  addressFor,
  CLOCK_SECONDS,
  createUpstreamClients,
  identify,
  providerRequest,
} from './clients.ts';
import { UpstreamFailure } from './failures.ts';

/** How long a user may take at the provider. */
const ROUND_TRIP_SECONDS = 15 * 60;

const storedRoundTrip = providerRequest.extend({
  upstreamId: z.string(),
  /** Whether the session outlives the browser. */
  remember: z.boolean(),
});

type RoundTrip = Readonly<z.infer<typeof storedRoundTrip>>;
/** What a sign-in asks of the provider, and wants to know after it. */
type Wanted = Pick<RoundTrip, 'maxAge' | 'isFresh' | 'remember'>;

export const ACCOUNT_UPSTREAMS_PATH = '/account/upstreams';
const ACCOUNT_PLACE = 'account';

/** Of a round trip of the account page. Another session of the browser cannot finish it. */
export const accountPlace = (sessionUid: string, userId: string) =>
  `${ACCOUNT_PLACE} ${sessionUid} ${userId}`;

const nameOf = (place: string) => place.replace(/ .*$/, '');

/** The pages of a place: that of the account page, or the uid of an interaction. */
export function pathOfPlace(place: string): string {
  const name = nameOf(place);
  return name === ACCOUNT_PLACE ? ACCOUNT_UPSTREAMS_PATH : `/sign-in/${name}/upstream`;
}

export type UpstreamRoundTrips = ReturnType<typeof createUpstreamRoundTrips>;

export function createUpstreamRoundTrips(
  dependencies: Parameters<typeof createUpstreamClients>[0] & {
    readonly identity: Pick<Identity, 'store' | 'credentialHash'>;
    readonly cookies: SealedCookies;
  },
) {
  const { store, credentialHash } = dependencies.identity;
  const { cookies } = dependencies;
  const withProvider = createUpstreamClients(dependencies);

  /** One atomic claim: of concurrent callbacks, one continues. */
  async function claimReturn(stateHash: string, addressGroup: string): Promise<void> {
    const limitKey = `upstream-sign-ins:address:${addressGroup}`;
    const { count, resetsAt } = await store.increment(limitKey, addressLimit.windowSeconds);
    if (count > addressLimit.attempts) {
      throw new TryLaterError('sign_in_address_limit', resetsAt);
    }
    const key = `upstream-state:${stateHash}`;
    if (!(await claimOnce(store, key, ROUND_TRIP_SECONDS + CLOCK_SECONDS))) {
      throw expired('the state was used before');
    }
  }

  return {
    /** @returns the address at the provider. @throws UpstreamFailure */
    async begin(
      place: string,
      upstream: Upstream,
      wanted: Wanted,
      loginHint?: string,
    ): Promise<string> {
      const secret = () => randomBytes(32).toString('base64url');
      const record: RoundTrip = {
        ...{ state: `${secret()}.${nameOf(place)}`, nonce: secret(), verifier: secret() },
        ...{ ...wanted, upstreamId: upstream.id, at: Math.floor(Date.now() / 1000) },
      };
      const address = await withProvider(upstream, (client) =>
        addressFor(client, record, loginHint),
      );
      cookies.write(place, JSON.stringify(record), ROUND_TRIP_SECONDS);
      return address;
    },

    /**
     * @param request the callback, at the page of its place
     * @throws UpstreamFailure, TryLaterError
     */
    async finish(place: string, upstream: Upstream, request: CallbackRequest) {
      const query = queryOf(request);
      const text = cookies.read(place);
      const roundTrip = text === undefined ? undefined : storedRoundTrip.parse(JSON.parse(text));
      // Of hashes, the time of a comparison reveals nothing.
      const stateHash = credentialHash(query.getAll('state').join());
      if (
        roundTrip?.upstreamId !== upstream.id ||
        Date.now() / 1000 - roundTrip.at > ROUND_TRIP_SECONDS ||
        stateHash !== credentialHash(roundTrip.state)
      ) {
        throw expired('no open round trip has this state');
      }
      await claimReturn(stateHash, addressGroupOf(request));
      cookies.clear(place);
      const found = await withProvider(upstream, (client) => identify(client, roundTrip, query));
      return { found, remember: roundTrip.remember };
    },
  };
}

/** The callback belongs to no open round trip of this browser. */
const expired = (finding: string) =>
  new UpstreamFailure(finding, { status: 400, error: 'signInExpired' });

type CallbackRequest = IncomingMessage & { readonly originalUrl: string };

/** The whole query, because `iss`, `code` and `state` must each occur once. */
const queryOf = ({ originalUrl }: CallbackRequest) =>
  new URL(originalUrl, 'http://unused.invalid').searchParams;

/**
 * The page that finishes the round trip of a callback, where the browser has its cookie. Undefined if
 * the state names none.
 */
export function returnAddress(request: CallbackRequest, upstreamId: string): string | undefined {
  const query = queryOf(request);
  const [, place] = /^[\w-]{43}\.([\w-]{1,64})$/.exec(query.getAll('state').join()) ?? [];
  return place && `${pathOfPlace(place)}/${encodeURIComponent(upstreamId)}/return?${query}`;
}
