/**
 * The failures of the platform API: HTTP status, default message, and the texts of the failure
 * reason with the same name. An entry here adds the code, its metric label and its reason, and
 * `npm run generate:docs` writes it into docs/errors.md.
 */
export const errorCatalogue = {
  illegal_argument: {
    status: 400,
    message: 'A parameter or the body is invalid.',
    stage: 'validate',
    fix: 'Correct every problem that `result` of the reply lists.',
  },
  ambiguous_request: {
    status: 400,
    message: 'This request could be read in two ways. Send only what the signature covers.',
    stage: 'authenticate',
    fix: 'Send each header and parameter once, and nothing that the signature does not cover.',
  },
  multiple_credentials: {
    status: 400,
    message: 'Send exactly one kind of credential.',
    stage: 'authenticate',
    fix: 'Send one credential only. Check whether a proxy or an HTTP library adds another one.',
  },
  duplicate_key: {
    status: 400,
    message: 'An entity with this id already exists.',
    stage: 'validate',
    fix: 'Choose another id, or read the existing entity.',
  },
  unauthorized: {
    status: 401,
    message: 'A valid credential is required.',
    stage: 'authenticate',
    fix: 'Send an access token, an X-Access-Token or a signature.',
  },
  missing_signature: {
    status: 401,
    message:
      'A signed request needs X-Client-Id, X-Timestamp, and either X-Sign or both X-Nonce and X-Sign-V2.',
    stage: 'authenticate',
    fix: 'Send all headers of one version of the signature.',
  },
  timestamp_out_of_range: {
    status: 401,
    message: 'X-Timestamp must be the current time in epoch milliseconds. Check the clock.',
    stage: 'authenticate',
    fix: 'Synchronize the clock (NTP), and sign each request immediately before you send it.',
  },
  invalid_signature: {
    status: 401,
    message: 'The client is unknown or the signature is wrong.',
    stage: 'authenticate',
    fix: 'Compare `expectedText` or `expectedLines` of the reply with the text that the program signs. If they are equal, the client id or the secure key is wrong.',
  },
  signed_body_not_verifiable: {
    status: 401,
    message:
      'A proxy asked about this request without its body, which the signature may cover. Send an access token.',
    stage: 'authenticate',
    fix: 'Send a token, or let the gateway forward the request instead of the proxy.',
  },
  replayed_request: {
    status: 401,
    message: 'This signature or nonce was already used.',
    stage: 'authenticate',
    fix: 'Sign every request again, with the current time and a new nonce. If the client sent the request only once, an attacker may have captured it: rotate the key.',
  },
  access_denied: {
    status: 403,
    message: 'The credential does not allow this operation.',
    stage: 'authorize',
    fix: 'Request the scope that the reply names. Operators grant it with `gatehouse clients change ID --add-scope SCOPE`.',
  },
  not_found: {
    status: 404,
    message: 'The resource does not exist.',
    stage: 'validate',
    fix: 'Check path and id, which are case-sensitive, and the organization of the client.',
  },
  method_not_allowed: {
    status: 405,
    message: 'This resource does not support the method.',
    stage: 'validate',
    fix: 'Use a method that the header Allow lists.',
  },
  request_timeout: {
    status: 408,
    message: 'The request took too long to arrive.',
    stage: 'read',
    fix: 'Send headers and body without pauses. Check the network between the client and Gatehouse.',
  },
  conflict: {
    status: 409,
    message: 'The state of the resource does not allow this change.',
    stage: 'validate',
    fix: 'Read the resource again. The message of the reply names what has to change first.',
  },
  precondition_failed: {
    status: 412,
    message: 'The resource changed since it was read. Nothing was changed.',
    stage: 'validate',
    fix: 'Read the resource again, and repeat the change with its new version.',
  },
  payload_too_large: {
    status: 413,
    message: 'The body is larger than this operation accepts.',
    stage: 'read',
    fix: 'Send a smaller body, or several requests.',
  },
  unsupported_media_type: {
    status: 415,
    message: 'This operation does not accept the media type or encoding of the body.',
    stage: 'validate',
    fix: 'Send an uncompressed body with the Content-Type that the operation reads: application/json for the platform API, application/x-www-form-urlencoded for OAuth.',
  },
  idempotency_key_reused: {
    status: 422,
    message: 'The Idempotency-Key was used for another request. Nothing was changed.',
    stage: 'validate',
    fix: 'Send a new key with every new request, and the same key only with a repetition.',
  },
  headers_too_large: {
    status: 431,
    message: 'The request headers are too large.',
    stage: 'read',
    fix: 'Send fewer or shorter headers: at most 100, and 16 KiB in total.',
  },
  too_many_requests: {
    status: 429,
    message: 'Too many requests.',
    stage: 'limit',
    fix: 'Wait for the seconds in Retry-After, and send fewer requests.',
  },
  internal_server_error: {
    status: 500,
    message: 'An unexpected error occurred.',
    stage: 'reply',
    fix: 'Report the defect with the request id. The log line has the error and its stack.',
  },
  bad_gateway: {
    status: 502,
    message: 'The upstream service did not send a usable reply.',
    stage: 'forward',
    fix: 'Look for the request id in the log of the service. Check whether the operation took effect before you repeat it.',
  },
  service_unavailable: {
    status: 503,
    message: 'A service that this request needs is unavailable.',
    stage: 'forward',
    fix: 'Wait for the seconds in Retry-After. Operators: find the failing check in /ready.',
  },
  timeout: {
    status: 504,
    message: 'The upstream service did not reply in time.',
    stage: 'forward',
    fix: 'Look for the request id in the log of the service. Check whether the operation took effect before you repeat it. Set a longer `timeout` of the route in ROUTES_FILE if it needs one.',
  },
} as const satisfies Record<
  string,
  {
    readonly status: number;
    readonly message: string;
    readonly stage: FailureStage;
    readonly fix: string;
  }
>;

export type ErrorCode = keyof typeof errorCatalogue;

/** The stage of a request that failed, in the order of the stages. */
export const failureStages = [
  'read',
  'limit',
  'authenticate',
  'authorize',
  'validate',
  'forward',
  'store',
  'reply',
] as const;

export type FailureStage = (typeof failureStages)[number];
