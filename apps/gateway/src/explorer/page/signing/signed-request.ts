import type { ReceivedReply } from '../api-request.ts';

/** A part of the signed text, as the page shows it. */
export interface SignedLine {
  readonly name: string;
  readonly value: string;
}

/** What was signed, and how to check the reply. */
export interface SignedRequest {
  readonly headers: Readonly<Record<string, string>>;
  readonly lines: readonly SignedLine[];
  /** How the signature is computed from the lines. */
  readonly method: string;
  readonly signature: string;
  verify(reply: ReceivedReply): Promise<Verification>;
}

export interface Verification {
  readonly isVerified: boolean;
  readonly explanation: string;
}

export const NOT_SIGNED: Verification = {
  isVerified: false,
  explanation:
    'The reply has no signature. The gateway did not verify the request, or the reply does not come from the gateway.',
};

export const WRONG_SIGNATURE: Verification = {
  isVerified: false,
  explanation:
    'The signature does not match the reply, or the reply is too old or has an unexpected form. Do not trust it.',
};
