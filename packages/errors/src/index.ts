export {
  ApiError,
  type ApiErrorDetails,
  type IllegalArgument,
  illegalArgument,
  serviceUnavailable,
} from './api-error.ts';
export {
  type FailureEnvelope,
  failureEnvelope,
  type SuccessEnvelope,
  successEnvelope,
  toApiError,
} from './envelope.ts';
export { type ErrorCode, errorCatalogue } from './error-catalogue.ts';
export {
  authorizationServerReasons,
  type FailureReason,
  type FailureReasonName,
  type FailureStage,
  failureReasons,
  failureStages,
  isFailureReason,
  type SignInReasonName,
  type SigningReasonName,
  signInReasons,
  signingReasons,
} from './reasons/failure-reasons.ts';
