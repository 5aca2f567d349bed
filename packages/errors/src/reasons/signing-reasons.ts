import { signatureHeaderReasons } from './signature-header-reasons.ts';
import { signingMistakeReasons } from './signing-mistake-reasons.ts';

/** Why signed requests fail. A reply names the reason as `result.cause`. */
export const signingReasons = {
  ...signatureHeaderReasons,
  ...signingMistakeReasons,
} as const;
