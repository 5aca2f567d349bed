import { type ErrorCode, errorCatalogue } from './error-catalogue.ts';

export interface ApiErrorDetails {
  /** For the caller. Defaults to the catalogue's message. Never a cause, a secret or a stack. */
  readonly message?: string;
  /** The envelope's optional `result`. */
  readonly result?: unknown;
  /** Reply headers that belong to this failure, such as `Retry-After` or `Allow`. */
  readonly headers?: Readonly<Record<string, string>>;
  /** For the log only. */
  readonly cause?: unknown;
}

/** A failure that has a place in the error catalogue. Compare by `code`, never by message. */
export class ApiError extends Error {
  readonly code: ErrorCode;
  readonly status: number;
  readonly result: unknown;
  readonly headers: Readonly<Record<string, string>>;

  constructor(code: ErrorCode, details: ApiErrorDetails = {}) {
    const entry = errorCatalogue[code];
    super(details.message ?? entry.message, { cause: details.cause });
    this.name = 'ApiError';
    this.code = code;
    this.status = entry.status;
    this.result = details.result;
    this.headers = details.headers ?? {};
  }
}

/** One wrong member of a request, as `result` of `illegal_argument` lists them. */
export interface IllegalArgument {
  readonly property: string;
  readonly message: string;
}

/** 400 `illegal_argument` that names every wrong member at once. */
export function illegalArgument(problems: readonly IllegalArgument[]): ApiError {
  const message = problems.map((problem) => `${problem.property}: ${problem.message}`).join('; ');
  return new ApiError('illegal_argument', { message, result: problems });
}

/** 503 with `Retry-After`: what a caller gets while a store or a service is away. */
export function serviceUnavailable(cause: unknown, retryAfterSeconds = 1): ApiError {
  return new ApiError('service_unavailable', {
    headers: { 'Retry-After': String(retryAfterSeconds) },
    cause,
  });
}
