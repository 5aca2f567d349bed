import type { FailureReason } from './failure-reason.ts';

/** Reasons of the gateway, except wrong signatures (signing-reasons.ts). */
export const gatewayReasons = {
  no_credential: {
    codes: ['unauthorized'],
    stage: 'authenticate',
    cause: 'The request has no credential.',
    fix: 'Send an access token, an X-Access-Token or a signature.',
    example: 'GET /api/device without an Authorization header',
  },
} as const satisfies Readonly<Record<string, FailureReason>>;
