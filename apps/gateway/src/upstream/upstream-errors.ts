import { ApiError } from '@gatehouse/errors';

/** System errors before the service received anything. */
const unreachable: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOENT',
  'ENOTFOUND',
  'EAI_AGAIN',
]);

/** The cause goes to the log. The caller learns neither the address nor the reason. */
export function toUpstreamError(error: unknown): ApiError {
  if (error instanceof ApiError) {
    return error;
  }
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  const syscall = error instanceof Error && 'syscall' in error ? error.syscall : undefined;
  if (code === 'ETIMEDOUT') {
    return new ApiError('timeout', { cause: error });
  }
  const isUnreachable = unreachable.has(code) || syscall === 'connect';
  const reason = isUnreachable ? 'upstream_unreachable' : 'bad_gateway';
  return new ApiError('bad_gateway', { cause: error, reason });
}
