import { type FailureReasonName, failureReasons } from '@gatehouse/errors';

/** The `result` of a rejected credential other than a signature. */
export function explanationOf(reason: FailureReasonName) {
  return {
    cause: reason,
    hint: failureReasons[reason].fix,
    documentation: 'docs/errors.md#credentials',
  };
}
