import {
  ApiError,
  type ErrorCode,
  type FailureReasonName,
  failureReasons,
  type SigningReasonName,
} from '@gatehouse/errors';

interface Explanation {
  /** The most important reason first. */
  readonly causes: readonly [SigningReasonName, ...SigningReasonName[]];
  /** Default: the causes in the catalogue of reasons. */
  readonly message?: string | undefined;
  /** Further members of `result`. */
  readonly result?: object | undefined;
  readonly clientId?: string | undefined;
  /** As in ApiError. Default: the other causes. */
  readonly finding?: string | undefined;
}

/** The error of a signed request that names the mistake of the signer. */
export function explainedFailure(code: ErrorCode, explanation: Explanation): ApiError {
  const { causes, clientId } = explanation;
  const [reason, ...others] = causes;
  return new ApiError(code, {
    message: explanation.message ?? causes.map((name) => failureReasons[name].cause).join(' '),
    result: {
      ...explanation.result,
      cause: reason,
      ...(others.length > 0 && { alsoCauses: others }),
      hint: causes.map((name) => failureReasons[name].fix).join(' '),
      documentation: 'docs/signing.md#mistakes',
    },
    reason,
    finding: explanation.finding ?? (others.length > 0 ? `Also: ${others.join(', ')}.` : undefined),
    clientId,
  });
}

/** The `result` of a rejected credential other than a signature. */
export function explanationOf(reason: FailureReasonName) {
  return {
    cause: reason,
    hint: failureReasons[reason].fix,
    documentation: 'docs/errors.md#credentials',
  };
}

/** @param found the credentials of the request, by the names of their headers */
export function severalCredentials(found: string): ApiError {
  const result = explanationOf('multiple_credentials');
  return new ApiError('multiple_credentials', { message: `${found} ${result.hint}`, result });
}
