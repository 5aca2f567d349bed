/**
 * The failures of the platform API: the HTTP status and the default message of each code.
 * `npm run generate:docs` writes them into docs/errors.md.
 */
export const errorCatalogue = {
  illegal_argument: { status: 400, message: 'A parameter or the body is invalid.' },
  ambiguous_request: {
    status: 400,
    message: 'This request could be read in two ways. Send only what the signature covers.',
  },
  multiple_credentials: { status: 400, message: 'Send exactly one kind of credential.' },
  duplicate_key: { status: 400, message: 'An entity with this id already exists.' },
  unauthorized: { status: 401, message: 'A valid credential is required.' },
  missing_signature: {
    status: 401,
    message:
      'A signed request needs X-Client-Id and X-Timestamp, and either X-Sign or both X-Nonce and X-Sign-V2.',
  },
  timestamp_out_of_range: {
    status: 401,
    message: 'X-Timestamp must be the current time in epoch milliseconds. Check the clock.',
  },
  invalid_signature: { status: 401, message: 'The client is unknown or the signature is wrong.' },
  signed_body_not_verifiable: {
    status: 401,
    message:
      'A proxy asked about this request without its body, which the signature may cover. Send an access token.',
  },
  replayed_request: { status: 401, message: 'This signature or nonce was already used.' },
  access_denied: { status: 403, message: 'The credential does not allow this operation.' },
  not_found: { status: 404, message: 'The resource does not exist.' },
  method_not_allowed: { status: 405, message: 'This resource does not support the method.' },
  request_timeout: { status: 408, message: 'The request took too long to arrive.' },
  payload_too_large: { status: 413, message: 'The body is larger than this operation accepts.' },
  unsupported_media_type: {
    status: 415,
    message: 'This operation does not accept the media type or encoding of the body.',
  },
  headers_too_large: { status: 431, message: 'The request headers are too large.' },
  too_many_requests: { status: 429, message: 'Too many requests.' },
  internal_server_error: { status: 500, message: 'An unexpected error occurred.' },
  bad_gateway: { status: 502, message: 'The upstream service did not send a usable reply.' },
  service_unavailable: {
    status: 503,
    message: 'A service that this request needs is unavailable.',
  },
  timeout: { status: 504, message: 'The upstream service did not reply in time.' },
} as const satisfies Record<string, { readonly status: number; readonly message: string }>;

export type ErrorCode = keyof typeof errorCatalogue;
