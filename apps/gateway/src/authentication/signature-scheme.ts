import type { Client } from '@gatehouse/identity';
import type { AuthenticationRequest, Signer, VerifiedBody } from './authenticator.ts';
import type { HeldBody } from './held-bodies.ts';
import type { PresentedSignature } from './presented-credentials.ts';

/** What differs between the versions of the signature. All that they share is in signed-request.ts. */
export interface SignatureScheme {
  /** Whether the client may sign so: a setting of the client, which no request can change. */
  accepts(client: Client): boolean;
  /** @throws AmbiguousTextError, ApiError */
  read(
    request: AuthenticationRequest,
    presented: PresentedSignature,
    held: HeldBody,
  ): Promise<SignedRequest>;
}

/** The one reading of a signed request: what its signature covers is what is forwarded. */
export interface SignedRequest {
  /** To forward, without its `?`. */
  readonly query: string;
  readonly body: VerifiedBody | undefined;
  /** Whether it may come again unchanged. */
  readonly repeatable: boolean;
  /** What is used up with the request in place of its signature. */
  readonly nonce: string | undefined;
  /**
   * The one of the keys that made the signature. A refusal costs the same whoever the client is.
   *
   * @param client undefined for one that is unknown or may not sign so
   */
  findKey(secureKeys: readonly string[], client: Client | undefined): string | undefined;
  /** @throws AmbiguousTextError when the signature may be that of a reply */
  assertNotReplyEnvelope(): void;
  createSigner(client: Client, secureKey: string): Signer;
}
