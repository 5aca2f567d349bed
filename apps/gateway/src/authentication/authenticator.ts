/**
 * Establishes who sent a request. `presentedCredentials` collects the credentials and allows only
 * one kind. Each authenticator verifies one kind, and `authenticate` tries them in order. A bad
 * credential never falls through to the next authenticator. Deliberately not here: permissions
 * (pipeline/authorize).
 */

import type { IncomingMessage } from 'node:http';
import { ApiError } from '@gatehouse/errors';
import type { AccessTokenVerifier, Principal } from '@gatehouse/identity';
import {
  explanationOf,
  type PresentedCredentials,
  type RequestTarget,
  type SignedBody,
  similarHeader,
} from '@gatehouse/signing';
import type { sent } from '../http/header-names.ts';
import type { CredentialKind } from '../routes/route.ts';
import { bearerChallenge } from './challenge.ts';

export interface AuthenticationRequest {
  readonly message: IncomingMessage;
  /** The method to verify: of the message, or of the request that a proxy asks about. */
  readonly method: string;
  readonly target: RequestTarget;
  readonly credentials: PresentedCredentials;
  /** The address of the peer, or the one that a trusted proxy reports. */
  readonly clientAddress: string;
  readonly bodyLimitBytes: number;
}

/** The owner of a verified credential, and the parts of the request to forward. */
export interface VerifiedRequest {
  readonly kind: CredentialKind;
  readonly principal: Principal;
  /** Signs the reply. Only a verified signed request has one. */
  readonly signer: Signer | undefined;
  /** The id of the key that signed the request. Only a signed request has one. */
  readonly secureKeyId: string | undefined;
  /** Verified again while a reply stays open. Signed requests have none. */
  readonly token: PresentedToken | undefined;
  /** The query to forward, without its `?`. */
  readonly query: string;
  /** The verified body to forward. Undefined: the body is still arriving and is streamed. */
  readonly body: SignedBody | undefined;
}

export interface PresentedToken {
  readonly text: string;
  readonly verify: AccessTokenVerifier;
}

/** Signs the reply with the key and the version of the request's signature. */
export interface Signer {
  readonly clientId: string;
  readonly header: typeof sent.signature1 | typeof sent.signature2;
  /** Lowercase hex. Undefined: a reply without a body gets no signature in version 1. */
  sign(reply: {
    readonly status: number;
    readonly body: Uint8Array;
    /** The value of its X-Timestamp. */
    readonly timestamp: string;
  }): string | undefined;
}

/** Verifies one kind of credential. */
export interface Authenticator {
  /**
   * Returns undefined if the request has no credential of this kind. Throws or rejects with an
   * ApiError if it has a bad one.
   */
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
  throw noCredential(request.message.rawHeaders);
}

function noCredential(rawHeaders: readonly string[]): ApiError {
  const headers = bearerChallenge();
  const similar = similarHeader(rawHeaders);
  if (similar === undefined) {
    return new ApiError('unauthorized', { headers });
  }
  const reason = 'credential_header_misnamed';
  const hint = `Send the credential as "${similar.meant}".`;
  return new ApiError('unauthorized', {
    message: `The request has no credential, but the header ${similar.name}. ${hint}`,
    result: { ...explanationOf(reason), hint },
    headers,
    reason,
  });
}
