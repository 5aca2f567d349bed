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
