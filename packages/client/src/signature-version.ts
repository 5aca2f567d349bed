/** A request as it is signed and sent. */
export interface RequestToSign {
  /** Percent-encoded as the gateway receives it. */
  readonly path: string;
  /** Without `?`. Empty if absent. */
  readonly query: string;
  readonly method: string;
  /** Empty if absent. */
  readonly contentType: string;
  /** Empty if absent. */
  readonly body: string | Uint8Array;
  readonly timestamp: number;
  readonly nonce: string;
}

export interface ReceivedReply {
  readonly response: Response;
  /** The body as received. */
  readonly bytes: Uint8Array;
}

export interface SignedRequest {
  readonly headers: Readonly<Record<string, string>>;
  /** Whether the gateway signed this reply, as the reply to this request. */
  isVerified(reply: ReceivedReply): Promise<boolean>;
}

/** One of the two versions of docs/signing.md. */
export interface SignatureVersion {
  /** Whether a nonce ties each reply to one request, so that nobody can present another reply. */
  readonly hasNonce: boolean;
  sign(request: RequestToSign): Promise<SignedRequest>;
}
