import { errorCatalogue, isFailureReason } from '@gatehouse/errors';
import type { RequestNotes } from '@gatehouse/server';
import { received } from '../http/header-names.ts';

/**
 * Notes why an upstream rejected a request. The device service sends code and reason in
 * `X-Failure`, which never reaches the caller. Only names of the catalogues are used, because an
 * upstream of a ROUTES_FILE may send any text.
 */
export function noteUpstreamFailure(
  { status, headers }: { readonly status: number; readonly headers: readonly string[] },
  notes: RequestNotes,
): void {
  notes.reason = 'upstream_refused';
  for (let index = 0; index < headers.length; index += 2) {
    if (headers[index] === received.failure) {
      const [code = '', reason = ''] = headers[index + 1]?.split(' ') ?? [];
      if (isErrorCode(code) && errorCatalogue[code].status === status && isFailureReason(reason)) {
        notes.code = code;
        notes.reason = reason;
      }
      return;
    }
  }
}

function isErrorCode(text: string): text is keyof typeof errorCatalogue {
  return Object.hasOwn(errorCatalogue, text);
}
