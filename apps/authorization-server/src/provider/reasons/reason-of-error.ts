import type { FailureReasonName } from '@gatehouse/errors';
import type { KoaContextWithOIDC } from 'oidc-provider';
import { libraryMessages, messagePatterns } from './library-messages.ts';
import { reasonsOfCodes } from './reasons-of-codes.ts';

/** The members of the library's errors. */
interface LibraryError {
  readonly error?: string | undefined;
  readonly error_detail?: string | undefined;
  readonly error_description?: string | undefined;
  readonly name: string;
}

/**
 * Why the library rejected this request. Every error has a reason: that of its message, or that of
 * its code.
 *
 * @param noted the reason that was noted before the library saw the error
 */
export function reasonOfError(
  context: KoaContextWithOIDC,
  error: LibraryError,
  noted?: FailureReasonName,
): FailureReasonName {
  for (const message of [error.error_detail, error.error_description]) {
    const found = reasonOfMessage(context, message ?? '');
    if (found !== undefined) {
      return found;
    }
  }
  return noted ?? reasonsOfCodes[error.error ?? error.name] ?? 'unexpected_error';
}

function reasonOfMessage(
  context: KoaContextWithOIDC,
  message: string,
): FailureReasonName | undefined {
  const reason = Object.hasOwn(libraryMessages, message) ? libraryMessages[message] : undefined;
  return typeof reason === 'function'
    ? reason(context)
    : (reason ?? messagePatterns.find(([pattern]) => pattern.test(message))?.[1]);
}
