/**
 * Why requests fail: every internal reason with its public codes, stage, cause and fix. The apps
 * log the names, the command line and the documentation explain them.
 */

import type { signInReasons } from './authorization-server/sign-in-reasons.ts';
import { authorizationServerReasons } from './authorization-server-reasons.ts';
import { codeReasons } from './code-reasons.ts';
import { credentialReasons } from './credential-reasons.ts';
import { deviceServiceReasons } from './device-service-reasons.ts';
import { forwardAuthReasons } from './forward-auth-reasons.ts';
import { gatewayReasons } from './gateway-reasons.ts';
import { serverReasons } from './server-reasons.ts';
import { signingReasons } from './signing-reasons.ts';

export { signInReasons } from './authorization-server/sign-in-reasons.ts';
export { authorizationServerReasons } from './authorization-server-reasons.ts';
export { type FailureReason, type FailureStage, failureStages } from './failure-reason.ts';
export { signingReasons } from './signing-reasons.ts';

export const failureReasons = {
  ...codeReasons,
  ...serverReasons,
  ...credentialReasons,
  ...gatewayReasons,
  ...forwardAuthReasons,
  ...signingReasons,
  ...authorizationServerReasons,
  ...deviceServiceReasons,
} as const;

export type FailureReasonName = keyof typeof failureReasons;

export function isFailureReason(name: string): name is FailureReasonName {
  return Object.hasOwn(failureReasons, name);
}

/** Why a user was not signed in. */
export type SignInReasonName = keyof typeof signInReasons;
export type SigningReasonName = keyof typeof signingReasons;
