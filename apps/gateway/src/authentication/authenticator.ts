/**
 * Who is calling. `presentedCredentials` collects what was sent and insists on one kind; each authenticator
 * verifies its own; `authenticate` asks them in turn. A kind that is bad never falls through to the next.
 * Deliberately not here: what the caller may do (pipeline/authorize).
 */
import type { IncomingMessage } from 'node:http';
import { ApiError } from '@gatehouse/api-envelope';
import type { AccessTokenVerifier, Principal } from '@gatehouse/identity';
import type { RequestTarget } from '../routes/request-target.ts';
import type { CredentialKind } from '../routes/route.ts';
import { bearerChallenge } from './challenge.ts';
import type { PresentedCredentials } from './presented-credentials.ts';

export interface AuthenticationRequest {
  readonly message: IncomingMessage;
  readonly target: RequestTarget;
  readonly credentials: PresentedCredentials;
  /** The peer, or who a trusted proxy says it is. */
  readonly clientAddress: string;
  readonly bodyLimitBytes: number;
}

/** Whoever a verified credential speaks for, and what of the request that credential lets through. */
export interface VerifiedRequest {
  readonly kind: CredentialKind;
  readonly principal: Principal;
  /** Signs the reply; only the caller of a verified signed request has one. */
  readonly signer: Signer | undefined;
  /** The id of the key that signed the request; only a signed request has one. */
  readonly secureKeyId: string | undefined;
  /** What was presented, to be verified again while a reply stays open. Signed requests have none. */
  readonly token: PresentedToken | undefined;
  /** The query to forward, without its `?`. */
  readonly query: string;
  /** The verified body to forward, or undefined to stream the one that is still on its way. */
  readonly body: VerifiedBody | undefined;
}

export interface PresentedToken {
  readonly text: string;
  readonly verify: AccessTokenVerifier;
}

/** Signs the reply to a verified request, with the key and in the version that it was signed with. */
export interface Signer {
  readonly clientId: string;
  readonly header: 'X-Sign' | 'X-Sign-V2';
  /** Lower-case hex; undefined where a reply without a body gets no signature. */
  sign(reply: {
    readonly status: number;
    readonly body: Uint8Array;
    /** The text of its X-Timestamp. */
    readonly timestamp: string;
  }): string | undefined;
}

export interface VerifiedBody {
  readonly bytes: Uint8Array;
  /** Replaces the request's own where the body was encoded anew. */
  readonly contentType: string | undefined;
}

/** Verifies one kind of credential. */
export interface Authenticator {
  /** Undefined: none of my kind was sent. Throws or rejects with an ApiError: one was, and it is bad. */
  authenticate(request: AuthenticationRequest): Promise<VerifiedRequest> | undefined;
}

/** @throws ApiError `unauthorized` when no authenticator finds a credential of its kind */
export function authenticate(
  request: AuthenticationRequest,
  authenticators: readonly Authenticator[],
): Promise<VerifiedRequest> {
  for (const authenticator of authenticators) {
    const verified = authenticator.authenticate(request);
    if (verified !== undefined) {
      return verified;
    }
  }
  throw new ApiError('unauthorized', { headers: bearerChallenge() });
}

/** 401 for a token that is unknown, expired or revoked: clients of the platform look for `value`. */
export function tokenRefused(): ApiError {
  return new ApiError('unauthorized', {
    message: 'The token is unknown, expired or revoked.',
    result: { text: 'Token expired', value: 'expired' },
    headers: bearerChallenge('invalid_token'),
  });
}
