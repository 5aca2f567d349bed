import type { IncomingMessage } from 'node:http';
import { ApiError } from '@gatehouse/errors';
import type { AccessTokenVerifier, Client, Practice, Principal } from '@gatehouse/identity';
import { type AddressMatcher, createAddressMatcher } from '@gatehouse/server';
import type {
  CredentialKind,
  PresentedCredential,
  RequestTarget,
  SignedBody,
} from '@gatehouse/signing';
import { LRUCache } from 'lru-cache';
import { bearerChallenge } from '../messages.ts';

/** A request before its credential is verified. */
export interface AuthenticationRequest {
  readonly message: IncomingMessage;
  /** The method to verify: of the message, or of the request that a proxy asks about. */
  readonly method: string;
  readonly target: RequestTarget;
  readonly credential: PresentedCredential;
  /** The address of the peer, or the one that a trusted proxy reports. */
  readonly clientAddress: string;
  readonly bodyLimitBytes: number;
}

/** The owner of a verified credential, and the parts of the request to forward. */
export interface VerifiedRequest {
  /** `browser`: the session of a user at a host in `browserHosts`. */
  readonly kind: CredentialKind | 'browser';
  readonly principal: Principal;
  /** Signs the reply. Only a verified signed request has one. */
  readonly signer?: Signer;
  /** The id of the key that signed the request. Only a signed request has one. */
  readonly secureKeyId?: string | undefined;
  /** What operators want to know about, because clients migrate. */
  readonly practice?: Practice | undefined;
  /** Verified again while a reply stays open. Signed requests have none. */
  readonly token?: { readonly text: string; readonly verify: AccessTokenVerifier };
  /** The query to forward, without its `?`. */
  readonly query: string;
  /** The verified body to forward. Undefined: the body is still arriving and is streamed. */
  readonly body?: SignedBody | undefined;
}

/** Signs the reply with the key and the version of the request's signature. */
export interface Signer {
  readonly clientId: string;
  readonly header: 'X-Sign' | 'X-Sign-V2';
  /** Lowercase hex. Undefined: a reply without a body gets no signature in version 1. */
  sign(reply: {
    readonly status: number;
    readonly body: Uint8Array;
    /** The value of its X-Timestamp. */
    readonly timestamp: string;
  }): string | undefined;
}

const matchers = new LRUCache<readonly string[], AddressMatcher>({
  max: 1000,
  memoMethod: (list) => createAddressMatcher(list),
});

/** @throws ApiError `access_denied` when the client's allowlist does not contain the address */
export function assertAllowedAddress({ ipAllowList }: Client, address: string): void {
  if (ipAllowList.length > 0 && !matchers.memo(ipAllowList)(address)) {
    throw new ApiError('access_denied', {
      message: 'This client may not be used from this address.',
      headers: bearerChallenge(),
      reason: 'address_not_allowed',
    });
  }
}
