import { type FailureReasonName, isFailureReason } from '@gatehouse/errors';

/** Returns the reason of a failed request. No failure is without one. */
export function failureReasonOf(
  notes: { readonly code?: string; readonly reason?: FailureReasonName | undefined },
  aborted: boolean,
): FailureReasonName {
  if (notes.reason !== undefined) {
    return notes.reason;
  }
  if (notes.code !== undefined && isFailureReason(notes.code)) {
    return notes.code;
  }
  return aborted && notes.code === undefined ? 'caller_left' : 'unclassified';
}
