/**
 * Why requests fail: every internal reason with its public codes, stage, cause and fix. The apps
 * log the names, the command line and the documentation explain them.
 */
import { authorizationServerReasons } from './authorization-server-reasons.ts';
import { codeReasons } from './code-reasons.ts';
import { credentialReasons } from './credential-reasons.ts';
import { deviceServiceReasons } from './device-service-reasons.ts';
import { gatewayReasons } from './gateway-reasons.ts';
import { serverReasons } from './server-reasons.ts';
import { signingReasons } from './signing-reasons.ts';

export { type FailureReason, type FailureStage, failureStages } from './failure-reason.ts';

export const failureReasons = {
  ...codeReasons,
  ...serverReasons,
  ...credentialReasons,
  ...gatewayReasons,
  ...signingReasons,
  ...authorizationServerReasons,
  ...deviceServiceReasons,
} as const;

export type FailureReasonName = keyof typeof failureReasons;

export function isFailureReason(name: string): name is FailureReasonName {
  return Object.hasOwn(failureReasons, name);
}

export type SigningReasonName = keyof typeof signingReasons;
