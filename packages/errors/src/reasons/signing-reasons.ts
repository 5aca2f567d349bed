import { signatureHeaderReasons } from './signature-header-reasons.ts';
import { signingMistakeReasons } from './signing-mistake-reasons.ts';

/**
 * Why signed requests fail. A reply names the reason as `result.cause`, and `result.documentation`
 * points to the heading of docs/signing.md with the same name.
 */
export const signingReasons = {
  ...signatureHeaderReasons,
  ...signingMistakeReasons,
} as const;
