import { ApiError, type ErrorCode } from '@gatehouse/api-envelope';

/** What the system calls it → what the caller is told. Everything else is `bad_gateway`. */
const codes: Readonly<Record<string, ErrorCode>> = {
  ETIMEDOUT: 'timeout',
};

/** The cause goes to the log; the caller learns neither address nor reason. */
export function toUpstreamError(error: unknown): ApiError {
  if (error instanceof ApiError) {
    return error;
  }
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  return new ApiError(codes[code] ?? 'bad_gateway', { cause: error });
}
