import type { Client } from '@gatehouse/identity';
import type { PresentedSignature, SignatureAlgorithm, SignedBody } from '@gatehouse/signing';
import type { AuthenticationRequest, Signer } from './authenticator.ts';
import type { SignedInput } from './explain-signature.ts';
import type { HeldBody } from './held-bodies.ts';

/** A version of the signature. signed-request.ts contains the steps that all versions share. */
export interface SignatureScheme {
  /**
   * The digest of the client. Undefined if its settings do not allow this version. No request can
   * change them.
   */
  algorithmOf(client: Client): SignatureAlgorithm | undefined;
  /** @throws AmbiguousTextError, ApiError */
  read(
    request: AuthenticationRequest,
    presented: PresentedSignature,
    held: HeldBody,
  ): Promise<SignedRequest>;
}

/**
 * The interpretation of a signed request: the gateway forwards exactly what the signature covers.
 */
export interface SignedRequest {
  /** The query to forward, without its `?`. */
  readonly query: string;
  readonly body: SignedBody | undefined;
  /** What the signature must cover. */
  readonly input: SignedInput;
  /** The body as sent. Empty if absent. */
  readonly received: Uint8Array;
  /** Whether a client may send the request again unchanged. */
  readonly repeatable: boolean;
  /** Used once instead of the signature. */
  readonly nonce: string | undefined;
  /**
   * Returns the key that made the signature. A failure takes the same time for every client.
   *
   * @param client undefined if it is unknown or may not use this version
   */
  findKey(secureKeys: readonly string[], client: Client | undefined): string | undefined;
  /** @throws AmbiguousTextError if the signature may belong to a reply */
  assertNotReplyEnvelope(): void;
  createSigner(client: Client, secureKey: string): Signer;
}
