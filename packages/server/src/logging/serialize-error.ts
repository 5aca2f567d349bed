import { types } from 'node:util';

/** Causes can refer to each other. */
const MAXIMUM_DEPTH = 5;
const MAXIMUM_ERRORS = 5;

/**
 * Converts an error for the log. For other values, only the type is logged, because they can be
 * secrets.
 */
export function serializeError(error: unknown, depth = 0): unknown {
  if (!(error instanceof Error || types.isNativeError(error))) {
    return { type: typeof error };
  }
  const nested = (inner: unknown) => serializeError(inner, depth + 1);
  const isDeep = depth >= MAXIMUM_DEPTH;
  return {
    type: error.name,
    ...('code' in error && typeof error.code === 'string' ? { code: error.code } : {}),
    message: maskUrls(String(error.message)),
    stack: maskUrls(String(error.stack ?? '')),
    ...(error.cause === undefined || isDeep ? {} : { cause: nested(error.cause) }),
    ...('errors' in error && Array.isArray(error.errors) && !isDeep
      ? { errors: error.errors.slice(0, MAXIMUM_ERRORS).map(nested) }
      : {}),
  };
}

/**
 * Error texts can quote a URL with a password, which can contain `/` and `@`, or with a token in
 * the query. Repetitions are bounded, because a caller can choose the length of the text.
 */
function maskUrls(text: string): string {
  return text
    .replace(/([a-z][a-z0-9+.-]{0,30}:\/\/)[^\s"'<>]{0,1024}@/gi, '$1***@')
    .replace(/\?[^\s"'<>?=]{1,256}=[^\s"'<>]*/g, '?***');
}
