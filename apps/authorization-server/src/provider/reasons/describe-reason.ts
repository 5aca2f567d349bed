import { type FailureReasonName, failureReasons } from '@gatehouse/errors';

/**
 * The `error_description` of a reason that the caller may read: what happened, and how to fix it.
 */
export function describeReason(reason: FailureReasonName): string {
  const { cause, fix } = failureReasons[reason];
  return `${cause} ${fix}`;
}
