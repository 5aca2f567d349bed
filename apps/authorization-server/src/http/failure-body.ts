import { ApiError, type ErrorCode, failureEnvelope } from '@gatehouse/errors';

interface OauthError {
  readonly error: string;
  readonly error_description?: string | undefined;
}

const codes: Readonly<Record<number, ErrorCode>> = {
  401: 'unauthorized',
  405: 'method_not_allowed',
  413: 'payload_too_large',
  415: 'unsupported_media_type',
  429: 'too_many_requests',
  500: 'internal_server_error',
  503: 'service_unavailable',
};

/**
 * A failure with the members of RFC 6749 §5.2 and those of the envelope, for both kinds of client.
 */
export function failureBody(status: number, failure: OauthError, timestamp: number) {
  const { error_description: message } = failure;
  const code = codes[status] ?? 'illegal_argument';
  const envelope = failureEnvelope(new ApiError(code, message ? { message } : {}), timestamp);
  return { ...failure, ...envelope, status };
}
