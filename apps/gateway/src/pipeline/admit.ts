import type { IncomingMessage } from 'node:http';
import { DEFAULT_BODY_LIMIT_BYTES } from '@gatehouse/device-api';
import { ApiError } from '@gatehouse/errors';
import {
  type AddressMatcher,
  observedRequest,
  type RequestNotes,
  type Router,
} from '@gatehouse/server';
import {
  assertReadableQuery,
  isPresent,
  type PresentedCredentials,
  presentedCredentials,
  type RequestTarget,
} from '@gatehouse/signing';
import {
  type Authenticator,
  authenticate,
  type VerifiedRequest,
} from '../authentication/authenticator.ts';
import { clientAddress } from '../http/client-address.ts';
import type { AppliedLimit } from '../rate-limits/limit-headers.ts';
import type { RequestLimits } from '../rate-limits/request-limits.ts';
import { type Entry, type RouteMatch, routeOf } from '../routes/entries.ts';

export interface AdmissionDependencies {
  readonly router: Router<Entry>;
  readonly authenticators: readonly Authenticator[];
  readonly limits: RequestLimits;
}

/** Facts that the stages collect about a request, for its reply and its log line. */
export interface RequestState {
  readonly message: IncomingMessage;
  readonly notes: RequestNotes;
  /** The address of the peer, or the one that a trusted proxy reports. */
  readonly clientAddress: string;
  /** Whether the request has a credential, good or bad. */
  hasCredential: boolean;
  /** Set after verification. */
  verified: VerifiedRequest | undefined;
  /**
   * Whether the store did not answer. Nothing else then waits for it, because each wait would delay
   * the 503 by another deadline.
   */
  storeFailed: boolean;
  readonly appliedLimits: AppliedLimit[];
}

export function createRequestState(
  message: IncomingMessage,
  notes: RequestNotes,
  isTrustedProxy: AddressMatcher,
): RequestState {
  const address = clientAddress(message, isTrustedProxy);
  return {
    message,
    notes,
    clientAddress: address,
    hasCredential: false,
    verified: undefined,
    storeFailed: false,
    appliedLimits: [],
  };
}

/** The request that asks for admission: the message, or the one that a proxy asks about. */
export interface AdmissionRequest {
  readonly method: string;
  readonly target: RequestTarget;
  readonly match: RouteMatch;
  /** Rejects credentials that this request must not use. @throws ApiError */
  readonly assertAcceptable?: (credentials: PresentedCredentials) => void;
}

/**
 * Identifies the caller and applies the rate limits: address limit → authenticate → client limit.
 * Requests, upgrades and verifications share these steps.
 *
 * @throws ApiError
 */
export async function admit(
  state: RequestState,
  { method, target, match, assertAcceptable }: AdmissionRequest,
  { limits, authenticators }: Omit<AdmissionDependencies, 'routes'>,
): Promise<VerifiedRequest> {
  const { message, notes, appliedLimits } = state;
  const route = routeOf(match);
  notes.operation = route?.operation ?? 'unmatched';
  const credentials = presentedCredentials(message.rawHeaders, target.query);
  state.hasCredential = isPresent(credentials);
  limits.assertAddressOpen(state.clientAddress, state.hasCredential, appliedLimits);
  assertAcceptable?.(credentials);
  if (credentials.signature === undefined) {
    assertReadableQuery(target.query);
  }
  const verified = await authenticate(
    {
      message,
      method,
      target,
      credentials,
      clientAddress: state.clientAddress,
      bodyLimitBytes: route?.bodyLimitBytes ?? DEFAULT_BODY_LIMIT_BYTES,
    },
    authenticators,
  );
  state.verified = verified;
  notes.clientId = verified.principal.clientId;
  notes.credential = verified.kind;
  notes.keyId = verified.secureKeyId;
  notes.verifiedMs = performance.now() - observedRequest(message).startedAt;
  const counting = limits.countClient(verified.principal.clientId, route, appliedLimits);
  if (counting !== undefined) {
    await counting;
  }
  return verified;
}

/**
 * Counts an unverified request against the limit of its address.
 *
 * @returns the error to send: `too_many_requests` if the address exceeds its limit
 */
export async function countFailure(
  error: ApiError,
  state: RequestState,
  limits: RequestLimits,
): Promise<ApiError> {
  const isCounted =
    state.verified === undefined && error.status < 500 && error.code !== 'too_many_requests';
  if (isCounted) {
    try {
      const { clientAddress: address, hasCredential, appliedLimits } = state;
      await limits.countAddress(address, hasCredential, appliedLimits);
    } catch (overLimit) {
      if (overLimit instanceof ApiError) {
        return overLimit;
      }
      throw overLimit;
    }
  }
  return error;
}
