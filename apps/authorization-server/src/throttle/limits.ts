/**
 * Every fixed window of the authorization server, counted in the store for all processes.
 * docs/decisions/07-sign-in-throttle.md gives the reasons for the numbers. Those of one account are
 * in packages/identity/src/users/sign-in-locks.ts. sign-in-throttle.ts and
 * failed-secrets.ts count what the beginning of a request does not show: the client, the user, or
 * the known browser.
 */
import { hash } from 'node:crypto';
import { observedRequest } from '@gatehouse/server';
import { createRateLimiter, type RateLimit, type Store } from '@gatehouse/store';
import type { Request, RequestHandler, Response } from 'express';
import {
  type AugmentedRequest,
  type Options,
  rateLimit,
  type Store as WindowStore,
} from 'express-rate-limit';
import { addressGroupOf } from '../requests/caller.ts';

const MINUTE = 60;

/**
 * Sign-in attempts from one address for all accounts, or from all known devices of one user.
 * Successes count as well, against password spraying and endless hashing.
 */
export const addressLimit = { attempts: 300, windowSeconds: 15 * MINUTE };

/** Wrong secrets for one client from one address. */
export const failedSecretLimit = { attempts: 50, windowSeconds: 10 * MINUTE };

/**
 * Presentations of an authorization code. A correct client needs one. The others are for
 * redemptions that an unavailable store interrupted. The client gets `invalid_grant`, as for every
 * invalid code, and log and audit trail the finding.
 */
export const redemptionLimit = { attempts: 5, finding: 'authorization code presented too often' };

/** From one address group, to the client endpoints. CLIENT_ENDPOINT_RATE_LIMIT replaces it. */
export const clientEndpointLimit = { requests: 6000, windowSeconds: MINUTE };

/** To the pages. PAGE_RATE_LIMIT replaces it. A sign-in takes four to six requests. */
export const pageLimit = { requests: 1200, windowSeconds: MINUTE };

/**
 * Metadata documents of clients. Fetches within a minute from an address group and of a host, and
 * the bytes of the records: of an address group and of all until a user allowed the access, then of
 * a user and of all. Clients on listed hosts have their own sums.
 */
export const documentLimits = {
  address: { requests: 30, windowSeconds: MINUTE },
  host: { requests: 120, windowSeconds: MINUTE },
  pending: { payerBytes: 256 * 1024, allBytes: 4 * 1024 * 1024 },
  kept: { payerBytes: 1024 * 1024, allBytes: 64 * 1024 * 1024 },
} as const;

/** Changes of a user's own profile. Each is an entry of the audit trail, which must not overflow. */
export const profileLimit = { requests: 30, windowSeconds: 60 * MINUTE };
/** Requests for mails from an address group. */
const mailLimit = { requests: 20, windowSeconds: 15 * MINUTE };

/** Forms for an account with the same link. Each can test whether a username is free. */
const accountFormLimit = { requests: 20, windowSeconds: 60 * MINUTE };

const USER_CODE_WINDOW_SECONDS = 10 * MINUTE;

/**
 * Wrong user codes of one address group, or one signed-in user. Many users may share an address.
 * The typing errors of an office stay below this limit.
 */
const USER_CODES = 20;

/**
 * Of all callers that are not signed in: with 1,000 live codes, 1,000 guesses find one in 25,000
 * windows.
 */
const USER_CODES_OF_STRANGERS = 1000;
const STRANGERS = 'strangers:all';

/** Writes the 429 and notes the reason. */
type Reply = (request: Request, response: Response) => void;

/** For a user code that was not evaluated. */
export type UserCodeReply = (
  request: Request,
  response: Response,
  rejection: { readonly seconds: number; readonly isStranger: boolean },
) => void;

export type Limits = ReturnType<typeof createLimits>;

/** If the store is unavailable, the request gets 503. */
export function createLimits(
  store: Store,
  settings: {
    /** Introspection has the same limit of its own. */
    readonly clientRateLimit?: RateLimit;
    readonly pageRateLimit?: RateLimit;
    /** Called for each request over a limit of requests, before its reply. */
    readonly onLimited: () => void;
    /** The id of the user who is signed in to this browser. */
    readonly signedInUser: (request: Request, response: Response) => Promise<string | undefined>;
    readonly replies: {
      readonly client: Reply;
      readonly page: Reply;
      readonly mail: Reply;
      readonly userCode: UserCodeReply;
    };
  },
) {
  const { clientRateLimit = clientEndpointLimit, pageRateLimit = pageLimit, replies } = settings;

  /** By address group, so that anonymous traffic cannot fill the store. */
  function requestLimit(name: string, limit: RateLimit, reply: Reply): RequestHandler {
    return rateLimit({
      ...windowOf(limit.windowSeconds),
      limit: limit.requests,
      store: leased(name, limit, store),
      standardHeaders: 'draft-8',
      identifier: 'address',
      keyGenerator: addressGroupOf,
      handler(request, response) {
        settings.onLimited();
        observedRequest(request).notes.code = 'too_many_requests';
        reply(request, response);
      },
    });
  }

  /** For forms of strangers, where each request counts. */
  function formLimit(
    name: string,
    limit: RateLimit,
    keyGenerator: Options['keyGenerator'],
  ): RequestHandler {
    return rateLimit({
      ...windowOf(limit.windowSeconds),
      limit: limit.requests,
      store: counted(name, limit.windowSeconds, store),
      keyGenerator,
      handler(request, response) {
        settings.onLimited();
        response.set('Retry-After', String(secondsLeft(request)));
        replies.mail(request, response);
      },
    });
  }

  /** Only wrong codes count. A code that another limit rejected was not evaluated. */
  function userCodeLimit(options: Pick<Options, 'limit' | 'keyGenerator'>): RequestHandler {
    return rateLimit({
      ...windowOf(USER_CODE_WINDOW_SECONDS),
      ...options,
      store: counted('user-code', USER_CODE_WINDOW_SECONDS, store),
      skipSuccessfulRequests: true,
      requestWasSuccessful: (_request, { statusCode }) => statusCode < 400 || statusCode === 429,
      handler(request, response) {
        const { key } = (request as AugmentedRequest).rateLimit ?? {};
        const seconds = secondsLeft(request);
        replies.userCode(request, response, { seconds, isStranger: key === STRANGERS });
      },
    });
  }

  return {
    clientEndpoints: requestLimit('client-endpoints', clientRateLimit, replies.client),
    introspection: requestLimit('introspection', clientRateLimit, replies.client),
    pages: requestLimit('pages', pageRateLimit, replies.page),
    mails: formLimit('mails', mailLimit, addressGroupOf),
    accountForms: formLimit('account-forms', accountFormLimit, ({ body }) =>
      hash('sha256', String(body?.token), 'base64url'),
    ),
    /**
     * RFC 8628 §5.1: an attacker can guess codes of eight letters. Wrong codes count by address
     * group and, because addresses are cheap, also by signed-in user or for all anonymous callers
     * together. Over the anonymous limit, users have to sign in before they enter a code, which
     * stops attackers without an account.
     */
    userCodes: [
      userCodeLimit({
        limit: USER_CODES,
        keyGenerator: (request) => `address:${addressGroupOf(request)}`,
      }),
      userCodeLimit({
        limit: (_request, { locals }) => (locals.isStranger ? USER_CODES_OF_STRANGERS : USER_CODES),
        async keyGenerator(request, response) {
          const userId = await settings.signedInUser(request, response);
          response.locals.isStranger = userId === undefined;
          return userId === undefined ? STRANGERS : `user:${userId}`;
        },
      }),
    ],
  };
}

/** Of the window of a request over its limit. */
function secondsLeft(request: Request): number {
  const { resetTime } = (request as AugmentedRequest).rateLimit ?? {};
  return Math.max(1, Math.ceil((Number(resetTime) - Date.now()) / 1000));
}

const windowOf = (seconds: number) =>
  ({ windowMs: seconds * 1000, legacyHeaders: false, passOnStoreError: false }) as const;

/** For many requests: each process leases permits, so that not every request costs a write. */
function leased(name: string, limit: RateLimit, store: Store): WindowStore {
  const limiter = createRateLimiter(name, limit, { store, now: Date.now });
  return {
    async increment(key) {
      const { allowed, remaining, resetsAt } = await limiter.take(key);
      const totalHits = allowed ? limit.requests - remaining : limit.requests + 1;
      // Not now, so that no reply has `Retry-After: 0`.
      return { totalHits, resetTime: new Date(Math.max(resetsAt, Date.now() + 1)) };
    },
    decrement: () => undefined,
    resetKey: () => undefined,
  };
}

/** For few attempts: a guess counts before it is evaluated, so that every guess of a burst counts. */
function counted(name: string, windowSeconds: number, store: Store): WindowStore {
  const keyOf = (party: string) => `attempts:${name}:${party}`;
  return {
    async increment(party) {
      const { count, resetsAt } = await store.increment(keyOf(party), windowSeconds);
      return { totalHits: count, resetTime: new Date(Math.max(resetsAt, Date.now() + 1)) };
    },
    // If the store is unavailable, the attempt counts until its window ends.
    decrement: (party) => store.decrement(keyOf(party)).catch(() => undefined),
    resetKey: (party) => store.delete([keyOf(party)]),
  };
}
