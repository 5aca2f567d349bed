import { ApiError, type ErrorCode } from '@gatehouse/api-envelope';

/** System error code → error code of the reply. Every other error is `bad_gateway`. */
const codes: Readonly<Record<string, ErrorCode>> = {
  ETIMEDOUT: 'timeout',
};

/** The cause goes to the log. The caller learns neither the address nor the reason. */
export function toUpstreamError(error: unknown): ApiError {
  if (error instanceof ApiError) {
    return error;
  }
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  return new ApiError(codes[code] ?? 'bad_gateway', { cause: error });
}
