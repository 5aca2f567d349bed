import type { FailureReason } from './failure-reason.ts';

/** Mistakes in signed requests. For a caller that holds the key, the name is `result.cause`. */
export const signingReasons = {
  timestamp_in_seconds: {
    codes: ['invalid_signature', 'timestamp_out_of_range'],
    stage: 'authenticate',
    cause: 'X-Timestamp counts seconds instead of milliseconds.',
    fix: 'Send the epoch time in milliseconds (13 digits), and sign the same digits.',
    example: 'X-Timestamp: 1795167634',
  },
} as const satisfies Readonly<Record<string, FailureReason>>;
