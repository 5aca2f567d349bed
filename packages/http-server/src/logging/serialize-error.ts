import { types } from 'node:util';

/** Causes may point at each other. */
const MAXIMUM_DEPTH = 5;
const MAXIMUM_ERRORS = 5;

/** An error as the log shows it. Whatever is not an error is named by its type only: it may be a secret. */
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
 * Errors like to quote the URL they failed on: with its password, which may itself hold `/` and `@`, or
 * with a token in its query. Bounded repetitions: the text may be as long as a caller likes.
 */
function maskUrls(text: string): string {
  return text
    .replace(/([a-z][a-z0-9+.-]{0,30}:\/\/)[^\s"'<>]{0,1024}@/gi, '$1***@')
    .replace(/\?[^\s"'<>?=]{1,256}=[^\s"'<>]*/g, '?***');
}
