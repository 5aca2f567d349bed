import { ApiError } from './api-error.ts';

/** `{"status":200,"code":"success","message":"success","result":…,"timestamp":<epoch ms>}` */
export interface SuccessEnvelope {
  readonly status: 200;
  readonly code: 'success';
  readonly message: 'success';
  readonly result?: unknown;
  readonly timestamp: number;
}

/**
 * `{"status":<HTTP status>,"code":…,"message":…,"timestamp":<epoch ms>,"result":<optional detail>}`
 */
export interface FailureEnvelope {
  readonly status: number;
  readonly code: string;
  readonly message: string;
  readonly timestamp: number;
  readonly result?: unknown;
}

export function successEnvelope(result: unknown, timestamp: number): SuccessEnvelope {
  return {
    status: 200,
    code: 'success',
    message: 'success',
    ...(result === undefined || result === null ? {} : { result }),
    timestamp,
  };
}

export function failureEnvelope(error: ApiError, timestamp: number): FailureEnvelope {
  return {
    status: error.status,
    code: error.code,
    message: error.message,
    timestamp,
    ...(error.result === undefined || error.result === null ? {} : { result: error.result }),
  };
}

/** Makes every thrown value that is not an `ApiError` an internal error. */
export function toApiError(thrown: unknown): ApiError {
  return thrown instanceof ApiError
    ? thrown
    : new ApiError('internal_server_error', { cause: thrown });
}
