import { type ErrorCode, errorCatalogue } from './error-catalogue.ts';
import type { FailureReasonName } from './reasons/failure-reasons.ts';

interface ApiErrorDetails {
  /**
   * For the caller. Defaults to the catalogue's message. Never contains a cause, secret or stack.
   */
  readonly message?: string;
  /** The optional `result` of the envelope. */
  readonly result?: unknown;
  /** Reply headers that belong to this failure, such as `Retry-After` or `Allow`. */
  readonly headers?: Readonly<Record<string, string>>;
  /** For the log only. */
  readonly cause?: unknown;
  /** For logs and the audit trail. Defaults to the reason with the name of the code. */
  readonly reason?: FailureReasonName | undefined;
  /**
   * A value that completes the reason, for the log and the request log: the missing scope, for
   * example. Never text of the caller.
   */
  readonly finding?: string | undefined;
  /**
   * The registered client that the request names, verified or not. For logs and the audit trail.
   */
  readonly clientId?: string | undefined;
}

/** A failure that the error catalogue defines. Compare `code`, never the message. */
export class ApiError extends Error {
  readonly code: ErrorCode;
  readonly status: number;
  readonly result: unknown;
  readonly headers: Readonly<Record<string, string>>;
  readonly reason: FailureReasonName;
  readonly finding: string | undefined;
  readonly clientId: string | undefined;

  constructor(code: ErrorCode, details: ApiErrorDetails = {}) {
    const entry = errorCatalogue[code];
    super(details.message ?? entry.message, { cause: details.cause });
    this.name = 'ApiError';
    this.code = code;
    this.status = entry.status;
    this.result = details.result;
    this.headers = details.headers ?? {};
    this.reason = details.reason ?? (code === 'internal_server_error' ? 'unexpected_error' : code);
    this.finding = details.finding;
    this.clientId = details.clientId;
  }
}

/** One invalid member of a request. The `result` of `illegal_argument` is a list of these. */
export interface IllegalArgument {
  readonly property: string;
  readonly message: string;
}

/** 400 `illegal_argument` that names all invalid members. */
export function illegalArgument(
  problems: readonly IllegalArgument[],
  reason?: FailureReasonName,
): ApiError {
  const message = problems.map((problem) => `${problem.property}: ${problem.message}`).join('; ');
  return new ApiError('illegal_argument', { message, result: problems, reason });
}

/** 503 with `Retry-After`, for a store or service that is unavailable. */
export function serviceUnavailable(
  cause: unknown,
  reason?: FailureReasonName,
  retryAfterSeconds = 1,
): ApiError {
  return new ApiError('service_unavailable', {
    headers: { 'Retry-After': String(retryAfterSeconds) },
    cause,
    reason,
  });
}
