import { createHmac, createSecretKey, randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { credentialKey, type Identity, lastingKey, type MasterKey } from '@gatehouse/identity';
import { observedRequest } from '@gatehouse/server';
import type { Store } from '@gatehouse/store';
import { errors } from 'oidc-provider';
import { lifetimes } from '../requests/lifetimes.ts';
import { contextOf } from '../requests/request-context.ts';
import { redemptionLimit } from '../throttle/limits.ts';
import type { SecurityProfile } from './clients.ts';
import { currentContext, currentRequest, type ProviderMiddleware } from './library.ts';

/** A code or token that can be redeemed once: its value and the key of its record. */
interface Redeemable {
  readonly id: string;
  readonly key: string;
}

/** Decides single use of one kind of credential, atomically in the store and across processes. */
export interface SingleUse {
  /** Whether this request may redeem it. */
  claim(redeemable: Redeemable, secondsToLive: number): Promise<boolean>;
  /** Whether it was redeemed before this request arrived. Then two parties hold it. */
  isRedeemed(redeemable: Redeemable): Promise<boolean>;
  /**
   * Counts a presentation of an unused credential, before its PKCE verifier and other parameters
   * are validated.
   *
   * @throws InvalidGrant after too many presentations
   */
  assertMayPresent?(redeemable: Redeemable): Promise<void>;
}

const claimKey = (recordKey: string) => `claimed:${recordKey}`;

/** The guarded record and its claim may be written a moment apart. */
const MARGIN_SECONDS = 60;

/** The arrival of this request in epoch milliseconds; undefined outside a request. */
function receivedAt(): number | undefined {
  const context = currentContext();
  return context && observedRequest(context.req).receivedAt;
}

/**
 * The single use of codes, in two steps: a claim that one request wins, and a mark when its reply
 * is ready. A request that arrives before the mark lost the same race and revokes nothing. A
 * request that arrives later presents a redeemed code, which means that two parties hold it (RFC
 * 6749 §4.1.2).
 */
export function createRedemptions(store: Store) {
  return {
    async claim({ key }: Redeemable, secondsToLive: number) {
      const owner = randomBytes(16).toString('base64url');
      const holder = await store.claim(claimKey(key), owner, secondsToLive + MARGIN_SECONDS);
      if (holder === owner) {
        const request = currentRequest();
        request.redeemed = (request.redeemed ?? new Map()).set(key, secondsToLive);
      }
      return holder === owner;
    },
    async isRedeemed({ key }: Redeemable) {
      const answeredAt = await store.get(`redeemed:${key}`);
      return answeredAt !== undefined && (receivedAt() ?? Infinity) >= Number(answeredAt);
    },
    /** Marks the credentials that this request redeemed. */
    async complete(request: IncomingMessage) {
      for (const [key, secondsToLive] of contextOf(request).redeemed ?? []) {
        await store.set(`redeemed:${key}`, String(Date.now()), secondsToLive + MARGIN_SECONDS);
      }
    },
  };
}

/**
 * Refresh tokens have a grace, for lost replies and concurrent tabs. The claim is pending until a
 * reply with the successor is sent. A use whose reply was never sent gave nobody a token, so the
 * token stays usable, for public clients as well. After the reply, the claim gets its time,
 * and the token can be used again until the grace ends. Every use gives the same successor, so the
 * family does not fork. The grace ends after 10 s, or when the successor is used, which proves that
 * its reply arrived. A use that arrives later means that two parties hold the token, so the library
 * revokes the family (RFC 9700 §4.14.2). A use that arrives in time but is too slow is rejected and
 * revokes nothing.
 */
const GRACE_MILLISECONDS = 10_000;
/** Ends a claim without a reply. Claims of earlier versions have no such end: they count as sent. */
const PENDING = '.pending';

export function createRefreshRotation({
  store,
  successorOf,
  keyOf,
  now = Date.now,
  request = currentRequest,
}: {
  readonly store: Store;
  /** The one token that follows a refresh token. */
  readonly successorOf: (refreshToken: string) => string;
  /** The key of a refresh token's record. */
  readonly keyOf: (refreshToken: string) => string;
  readonly now?: () => number;
  readonly request?: typeof currentRequest;
}) {
  /** Epoch milliseconds. */
  async function endOfGrace(id: string, claim: string): Promise<number> {
    const used = await store.get(claimKey(keyOf(successorOf(id))));
    return Math.min(
      claim.endsWith(PENDING) ? Infinity : claimedAt(claim) + GRACE_MILLISECONDS,
      used === undefined ? Infinity : claimedAt(used),
    );
  }

  return {
    async claim({ id, key }: Redeemable, secondsToLive: number) {
      const owner = `${now()}.${randomBytes(16).toString('base64url')}${PENDING}`;
      const holder = await store.claim(claimKey(key), owner, secondsToLive + MARGIN_SECONDS);
      if (holder.endsWith(PENDING)) {
        request().refreshClaim = { key: claimKey(key), holder };
      }
      return holder === owner || now() < (await endOfGrace(id, holder));
    },
    async isRedeemed({ id, key }: Redeemable) {
      const holder = await store.get(claimKey(key));
      return holder !== undefined && (receivedAt() ?? now()) >= (await endOfGrace(id, holder));
    },
    async complete(request: IncomingMessage) {
      const { key, holder } = contextOf(request).refreshClaim ?? {};
      if (key !== undefined && holder !== undefined) {
        // False if a concurrent use completed first. Its time counts.
        await store.replace(
          key,
          holder,
          `${now()}${holder.slice(holder.indexOf('.'), -PENDING.length)}`,
        );
      }
    },
  };
}

function claimedAt(claim: string): number {
  return Number(claim.split('.', 1)[0]);
}

/**
 * How the records of each model are used once. Codes can be presented five times. Refresh tokens
 * have a grace, except under `strict`.
 */
export function createSingleUses(
  { store, credentialHash }: Pick<Identity, 'store' | 'credentialHash'>,
  masterKey: MasterKey,
  securityProfile: SecurityProfile,
) {
  const redemptions = createRedemptions(store);
  const codes = { ...redemptions, assertMayPresent: limitPresentations(store) };
  // Only a holder of the master key can compute a successor.
  const key = createSecretKey(lastingKey(masterKey, 'refresh-successor'));
  const successorOf = (refreshToken: string) =>
    createHmac('sha256', key).update(refreshToken).digest('base64url');
  const keyOf = (refreshToken: string) =>
    credentialKey('RefreshToken', credentialHash(refreshToken));
  const rotation = createRefreshRotation({ store, successorOf, keyOf });
  /**
   * Before a successful reply is sent: from then on, the code or token that was redeemed counts as
   * used. The grace of a refresh token begins after its reply, because a client that gets no reply
   * needs the token again. If that mark is lost, only the use of the successor ends the grace.
   */
  const complete: ProviderMiddleware = async ({ req, res }, next) => {
    await next();
    // A redirect uses up a pushed request.
    if (res.statusCode < 400) {
      await redemptions.complete(req);
      res.once('finish', () => {
        if (res.statusCode < 400) {
          rotation.complete(req).catch(() => {});
        }
      });
    }
  };
  return {
    successorOf,
    of(model: string): SingleUse {
      if (model === 'RefreshToken' && securityProfile === 'compatible') {
        return rotation;
      }
      return model === 'AuthorizationCode' ? codes : redemptions;
    },
    complete,
  };
}

/**
 * An attacker who captured a code but not its PKCE verifier must not guess without limit (RFC 7636
 * §7.1). The count is one atomic increment before the library validates the verifier, so concurrent
 * guesses count as well. The record is not deleted, because the winning request may not have read
 * it yet.
 */
function limitPresentations(store: Store): NonNullable<SingleUse['assertMayPresent']> {
  const windowSeconds = lifetimes.AuthorizationCode + MARGIN_SECONDS;
  return async ({ key }) => {
    const { count } = await store.increment(`attempts:code:${key}`, windowSeconds);
    if (count > redemptionLimit.attempts) {
      throw new errors.InvalidGrant(redemptionLimit.finding);
    }
  };
}
