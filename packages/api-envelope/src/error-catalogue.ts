/**
 * Every failure the platform API can answer with: code → HTTP status → what a person reads when the
 * thrower has nothing more precise to say. `docs/errors.md` explains each; a test keeps the two equal.
 */
export const errorCatalogue = {
  illegal_argument: { status: 400, message: 'A parameter or the body is not valid.' },
  ambiguous_request: { status: 400, message: 'The signed text of this request has two readings.' },
  multiple_credentials: { status: 400, message: 'Send exactly one kind of credential.' },
  duplicate_key: { status: 400, message: 'An entity with this id already exists.' },
  unauthorized: { status: 401, message: 'A valid credential is required.' },
  missing_signature: {
    status: 401,
    message:
      'A signed request carries X-Client-Id, X-Timestamp and X-Sign, or these two with X-Nonce and X-Sign-V2.',
  },
  timestamp_out_of_range: {
    status: 401,
    message: 'X-Timestamp must be epoch milliseconds close to the server time.',
  },
  invalid_signature: { status: 401, message: 'The client is unknown or the signature is wrong.' },
  replayed_request: { status: 401, message: 'This signature, or its nonce, was already used.' },
  access_denied: { status: 403, message: 'The credential does not allow this operation.' },
  not_found: { status: 404, message: 'No such resource.' },
  method_not_allowed: { status: 405, message: 'This resource does not support the method.' },
  payload_too_large: { status: 413, message: 'The body is larger than this operation accepts.' },
  unsupported_media_type: {
    status: 415,
    message: 'The body has a media type or encoding that is not accepted here.',
  },
  headers_too_large: { status: 431, message: 'The request headers are too large.' },
  too_many_requests: { status: 429, message: 'Too many requests.' },
  internal_server_error: { status: 500, message: 'An unexpected error occurred.' },
  bad_gateway: { status: 502, message: 'The service behind the gateway gave no usable answer.' },
  service_unavailable: { status: 503, message: 'A service this request needs is unavailable.' },
  timeout: { status: 504, message: 'The service behind the gateway did not answer in time.' },
} as const satisfies Record<string, { readonly status: number; readonly message: string }>;

export type ErrorCode = keyof typeof errorCatalogue;
