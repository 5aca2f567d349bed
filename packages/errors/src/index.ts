export {
  ApiError,
  type IllegalArgument,
  illegalArgument,
  serviceUnavailable,
} from './api-error.ts';
export { failureEnvelope, successEnvelope, toApiError } from './envelope.ts';
export {
  type ErrorCode,
  errorCatalogue,
  type FailureStage,
  failureStages,
} from './error-catalogue.ts';
export type { FailureReason } from './reasons/failure-reason.ts';
export {
  type FailureReasonName,
  failureReasons,
  isFailureReason,
  type SignInReasonName,
  type SigningReasonName,
} from './reasons/failure-reasons.ts';
export { signInReasons } from './reasons/sign-in-reasons.ts';
export { signingReasons } from './reasons/signing-reasons.ts';
