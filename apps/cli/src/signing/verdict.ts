import type { FailureReasonName } from '@gatehouse/errors';
import type { ReplyMistakeName } from './reply-mistakes.ts';

/** What a signature covers, as the verifier reads the message. */
export type SignedInput =
  | { readonly signedAs: 'query' | 'form' | 'body'; readonly expectedText: string }
  /** The body of a reply. */
  | {
      readonly signedAs: 'body';
      readonly expectedBody: { readonly bytes: number; readonly sha256: string };
    }
  | { readonly signedAs: 'lines'; readonly expectedLines: readonly string[] };

/** The result of a check. */
export interface Verdict {
  readonly isVerified: boolean;
  /** Undefined: the message has no signature. */
  readonly version: 1 | 2 | undefined;
  /** The error code of the gateway for this request. */
  readonly code?: string | undefined;
  /** The most important one first. */
  readonly causes: readonly (FailureReasonName | ReplyMistakeName)[];
  /** Default: the texts of the causes. */
  readonly message?: string | undefined;
  readonly signed?: SignedInput | undefined;
  readonly timestamp?: string | undefined;
  readonly notes: readonly string[];
}
