import type { FailureReason } from './failure-reason.ts';

/** Reasons of the device service. */
export const deviceServiceReasons = {
  internal_token_invalid: {
    codes: ['unauthorized'],
    stage: 'authenticate',
    cause: 'The device service rejected the internal token of the gateway.',
    fix: 'Compare the clocks of both hosts, and check GATEWAY_JWKS_URL and the issuer.',
    example: 'clocks that differ by more than a minute',
  },
} as const satisfies Readonly<Record<string, FailureReason>>;
