import type { FailureReason } from './failure-reason.ts';

/** Reasons of the authorization server. */
export const authorizationServerReasons = {
  code_verifier_wrong: {
    codes: ['invalid_grant'],
    stage: 'validate',
    cause: 'The code_verifier does not match the code_challenge of the authorization request.',
    fix: 'Send the code_verifier from which the application derived the code_challenge of this sign-in.',
    example: 'code_verifier of another browser tab',
  },
} as const satisfies Readonly<Record<string, FailureReason>>;
