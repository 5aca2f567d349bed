import type { IncomingMessage } from 'node:http';
import { ApiError } from '@gatehouse/api-envelope';
import { DEFAULT_BODY_LIMIT_BYTES } from '@gatehouse/device-api';
import type { AddressMatcher, RequestNotes } from '@gatehouse/http-server';
import {
  type Authenticator,
  authenticate,
  type VerifiedRequest,
} from '../authentication/authenticator.ts';
import { isPresent, presentedCredentials } from '../authentication/presented-credentials.ts';
import { clientAddress } from '../http/client-address.ts';
import type { AppliedLimit } from '../rate-limits/limit-headers.ts';
import type { RequestLimits } from '../rate-limits/request-limits.ts';
import { assertReadableQuery, type RequestTarget } from '../routes/request-target.ts';
import type { RouteMatch, RouteTable } from '../routes/route-table.ts';

export interface AdmissionDependencies {
  readonly routes: RouteTable;
  readonly authenticators: readonly Authenticator[];
  readonly limits: RequestLimits;
}

/** What is found out about a request on its way, for its reply and its log line, however it ends. */
export interface RequestState {
  readonly message: IncomingMessage;
  readonly notes: RequestNotes;
  /** The peer, or who a trusted proxy says it is. */
  readonly clientAddress: string;
  /** Good or bad. */
  hasCredential: boolean;
  /** Once verified. */
  verified: VerifiedRequest | undefined;
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
    appliedLimits: [],
  };
}

export interface Admitted {
  readonly verified: VerifiedRequest;
  readonly match: RouteMatch;
}

/**
 * Who calls, and how often they may: match → address limit → authenticate → client limit. The same for
 * requests and for upgrades.
 *
 * @throws ApiError
 */
export async function admit(
  state: RequestState,
  target: RequestTarget,
  dependencies: AdmissionDependencies,
): Promise<Admitted> {
  const { message, notes, appliedLimits } = state;
  const { limits } = dependencies;
  const match = dependencies.routes.match(message.method ?? '', target);
  const route = match?.route;
  notes.operation = route?.operation ?? 'unmatched';
  const credentials = presentedCredentials(message, target.query);
  state.hasCredential = isPresent(credentials);
  limits.assertAddressOpen(state.clientAddress, state.hasCredential, appliedLimits);
  if (credentials.signature === undefined) {
    assertReadableQuery(target.query);
  }
  const verified = await authenticate(
    {
      message,
      target,
      credentials,
      clientAddress: state.clientAddress,
      bodyLimitBytes: route?.bodyLimitBytes ?? DEFAULT_BODY_LIMIT_BYTES,
    },
    dependencies.authenticators,
  );
  state.verified = verified;
  notes.clientId = verified.principal.clientId;
  notes.credential = verified.kind;
  const counting = limits.countClient(verified.principal.clientId, route, appliedLimits);
  if (counting !== undefined) {
    await counting;
  }
  return { verified, match };
}

/**
 * What a refusal costs: a request that was not verified counts against its address. That the address is over
 * its limit then is the answer.
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
