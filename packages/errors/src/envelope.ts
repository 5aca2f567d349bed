import { ApiError } from './api-error.ts';

/** `{"status":200,"code":"success","message":"success","result":…,"timestamp":<epoch ms>}` */
export function successEnvelope(result: unknown, timestamp: number) {
  return {
    status: 200,
    code: 'success',
    message: 'success',
    ...(result === undefined || result === null ? {} : { result }),
    timestamp,
  };
}

/**
 * `{"status":<HTTP status>,"code":…,"message":…,"timestamp":<epoch ms>,"result":<optional detail>}`
 */
export function failureEnvelope({ status, code, message, result }: ApiError, timestamp: number) {
  return {
    status,
    code,
    message,
    timestamp,
    ...(result === undefined || result === null ? {} : { result }),
  };
}

/** Makes every thrown value that is not an `ApiError` an internal error. */
export function toApiError(thrown: unknown): ApiError {
  return thrown instanceof ApiError
    ? thrown
    : new ApiError('internal_server_error', { cause: thrown });
}
