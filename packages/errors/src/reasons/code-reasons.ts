import type { FailureReason } from './failure-reason.ts';

/**
 * Reasons with the name of an error code of the platform API. A failure has this reason if the code
 * is as precise as Gatehouse can be.
 */
export const codeReasons = {
  illegal_argument: {
    codes: ['illegal_argument'],
    stage: 'validate',
    cause: 'A parameter, a header or the body has an invalid value.',
    fix: 'Correct every problem that `result` of the reply lists.',
    example: 'pageSize=0',
  },
  ambiguous_request: {
    codes: ['ambiguous_request'],
    stage: 'authenticate',
    cause: 'Two parsers could interpret the signed request differently.',
    fix: 'Send only what the signature covers, and each header and parameter once.',
    example: 'a query next to a signed body',
  },
  multiple_credentials: {
    codes: ['multiple_credentials'],
    stage: 'authenticate',
    cause: 'The request has more than one credential.',
    fix: 'Send exactly one kind of credential, once.',
    example: 'Authorization and X-Sign in one request',
  },
  duplicate_key: {
    codes: ['duplicate_key'],
    stage: 'validate',
    cause: 'The organization already has an entity with this id.',
    fix: 'Choose another id, or read the existing entity.',
    example: 'a second POST /device-instance with {"id": "d1"}',
  },
  unauthorized: {
    codes: ['unauthorized'],
    stage: 'authenticate',
    cause: 'The request has no valid credential.',
    fix: 'Send a valid access token, X-Access-Token or signature.',
    example: 'Authorization: Bearer with a token that does not exist',
  },
  missing_signature: {
    codes: ['missing_signature'],
    stage: 'authenticate',
    cause: 'Some headers of a signed request are present, and others are missing.',
    fix: 'Send X-Client-Id, X-Timestamp and X-Sign, or X-Client-Id, X-Timestamp, X-Nonce and X-Sign-V2.',
    example: 'X-Client-Id and X-Sign without X-Timestamp',
  },
  timestamp_out_of_range: {
    codes: ['timestamp_out_of_range'],
    stage: 'authenticate',
    cause: 'X-Timestamp is not a number, or too far from the clock of the gateway.',
    fix: 'Synchronize the clock of the client with NTP, and send epoch milliseconds.',
    example: 'X-Timestamp of ten minutes ago',
  },
  invalid_signature: {
    codes: ['invalid_signature'],
    stage: 'authenticate',
    cause:
      'The client is unknown or disabled, or the signature does not match the request and the keys of the client.',
    fix: 'Compare client id, secure key, digest and signed text with docs/signing.md. `gatehouse clients show` lists the keys of the client.',
    example: 'X-Sign computed with the key of another client',
  },
  signed_body_not_verifiable: {
    codes: ['signed_body_not_verifiable'],
    stage: 'authenticate',
    cause:
      'A proxy asked about a signed POST, PUT or PATCH. The signature covers the body, which the gateway does not receive.',
    fix: 'Send an access token or an X-Access-Token, or let the gateway forward the request instead of the proxy.',
    example: 'POST /reports with X-Sign, behind nginx with auth_request',
  },
  replayed_request: {
    codes: ['replayed_request'],
    stage: 'authenticate',
    cause: 'The signature or the nonce was used before.',
    fix: 'Sign every request again, with the current time and a new nonce. If the client sent the request only once, an attacker may have captured it: rotate the key.',
    example: 'the same signed POST twice',
  },
  access_denied: {
    codes: ['access_denied'],
    stage: 'authorize',
    cause: 'The credential is valid, but does not allow the operation.',
    fix: 'Request the scope that the reply names, or ask the operator to grant it.',
    example: 'POST /device-instance with the scope device:read',
  },
  not_found: {
    codes: ['not_found'],
    stage: 'validate',
    cause: 'The resource does not exist in the organization of the client.',
    fix: 'Check path and id. Both are case-sensitive.',
    example: 'GET /api/v1/device/none',
  },
  method_not_allowed: {
    codes: ['method_not_allowed'],
    stage: 'validate',
    cause: 'The path exists, but does not support the method.',
    fix: 'Use a method that the header Allow lists.',
    example: 'PUT /api/device',
  },
  request_timeout: {
    codes: ['request_timeout'],
    stage: 'read',
    cause: 'The request arrived too slowly.',
    fix: 'Send headers and body without pauses. Check the network between the client and Gatehouse.',
    example: 'a signed body that pauses for 10 s',
  },
  payload_too_large: {
    codes: ['payload_too_large'],
    stage: 'read',
    cause: 'The body is larger than the operation accepts.',
    fix: 'Send a smaller body, or several requests.',
    example: 'a POST with a body of 2 MiB',
  },
  unsupported_media_type: {
    codes: ['unsupported_media_type'],
    stage: 'validate',
    cause: 'The operation does not accept the media type or the encoding of the body.',
    fix: 'Send uncompressed JSON with Content-Type: application/json.',
    example: 'Content-Type: text/plain',
  },
  headers_too_large: {
    codes: ['headers_too_large'],
    stage: 'read',
    cause: 'The headers exceed 16 KiB, or there are more than 100.',
    fix: 'Send fewer or shorter headers.',
    example: 'a Cookie header of 20 KiB',
  },
  too_many_requests: {
    codes: ['too_many_requests'],
    stage: 'limit',
    cause: 'The client, the address or the operation exceeded a limit.',
    fix: 'Wait for the seconds in Retry-After, and send fewer requests.',
    example: 'more requests in a minute than the header RateLimit-Policy allows',
  },
  bad_gateway: {
    codes: ['bad_gateway'],
    stage: 'forward',
    cause: 'The upstream service gave no usable reply.',
    fix: 'Check the upstream service, and its log for the request id. Check whether the operation took effect before you repeat it.',
    example: 'a service that closes the connection in the middle of its reply',
  },
  service_unavailable: {
    codes: ['service_unavailable'],
    stage: 'forward',
    cause: 'A service that the request needs is unavailable.',
    fix: 'Wait for the seconds in Retry-After. Operators: find the failing check in /ready.',
    example: 'a stopped database',
  },
  timeout: {
    codes: ['timeout'],
    stage: 'forward',
    cause: 'The upstream service did not reply within the time limit of the route.',
    fix: 'Check the upstream service. Check whether the operation took effect before you repeat it.',
    example: 'a query that takes longer than 15 s',
  },
} as const satisfies Readonly<Record<string, FailureReason>>;
