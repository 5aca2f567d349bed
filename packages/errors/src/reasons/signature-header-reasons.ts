import type { FailureReason } from './failure-reason.ts';

const malformed = { codes: ['invalid_signature'], stage: 'authenticate' } as const;
const untimely = { codes: ['timestamp_out_of_range'], stage: 'authenticate' } as const;
const ambiguous = { codes: ['ambiguous_request'], stage: 'authenticate' } as const;

/** Reasons that follow from the request alone, and reasons that only operators see. */
export const signatureHeaderReasons = {
  signature_header_missing: {
    codes: ['missing_signature'],
    stage: 'authenticate',
    cause: 'The request has some of the signature headers, but not all of them.',
    fix: 'Send X-Client-Id and X-Timestamp, and either X-Sign or both X-Nonce and X-Sign-V2.',
    example: 'X-Client-Id and X-Sign without X-Timestamp',
  },
  signature_header_twice: {
    ...ambiguous,
    cause: 'The request has a signature header twice.',
    fix: 'Send each signature header once. Check whether a proxy or an HTTP library adds a second one.',
    example: 'two X-Timestamp headers',
  },
  signature_base64: {
    ...malformed,
    cause: 'The signature is in Base64 or Base64url instead of hexadecimal digits.',
    fix: 'Encode the bytes of the digest as hexadecimal digits.',
    example: 'X-Sign: iD4ujy5XwSXcLe4D2gA7VMAF9oQVuHY9XbjP8RqOxL4=',
  },
  signature_sha1: {
    ...malformed,
    cause: 'The signature has 40 hexadecimal digits, the length of SHA-1.',
    fix: 'Use the digest of the client: SHA-256 or MD5 in version 1, HMAC-SHA-256 in version 2.',
    example: 'X-Sign: da39a3ee5e6b4b0d3255bfef95601890afd80709',
  },
  signature_malformed: {
    ...malformed,
    cause: 'The signature does not have the form of a digest in hexadecimal digits.',
    fix: 'Send only the hexadecimal digits of the digest: 64, or 32 for MD5 in version 1.',
    example: 'X-Sign: sha256=883e2e8f…',
  },
  signing_client_unknown: {
    ...malformed,
    cause:
      'No client has the id in X-Client-Id. Only operators see this reason. The reply names no cause.',
    fix: 'Operators: compare the id with `gatehouse clients list`. Ids are case-sensitive.',
    example: 'X-Client-Id: Demo for the client demo',
  },
  signing_client_disabled: {
    ...malformed,
    cause: 'The client is disabled. Only operators see this reason. The reply names no cause.',
    fix: 'Operators: enable the client with `gatehouse clients change --enable`, or register another one.',
    example: 'a signed request after `gatehouse clients change demo --disable`',
  },
  signature_unexplained: {
    ...malformed,
    cause:
      'The signature matches no active key of the client, and no known mistake explains it. The reply names no cause.',
    fix: 'Compare `expectedText` or `expectedLines` of the reply with the text that the program signs. If they are equal, the client id or the secure key is wrong.',
    example: 'a signature with the secure key of another client',
  },
  timestamp_in_seconds: {
    ...untimely,
    cause: 'X-Timestamp counts seconds instead of milliseconds.',
    fix: 'Send the epoch time in milliseconds (13 digits), and sign the same digits.',
    example: 'X-Timestamp: 1795167634',
  },
  timestamp_too_precise: {
    ...untimely,
    cause: 'X-Timestamp counts microseconds or nanoseconds instead of milliseconds.',
    fix: 'Divide by 1000 or 1,000,000, drop the fraction, and sign the same 13 digits.',
    example: 'X-Timestamp: 1795167634189000000',
  },
  timestamp_malformed: {
    ...untimely,
    cause: 'X-Timestamp is not a number of 13 digits.',
    fix: 'Send the epoch time in milliseconds: exactly 13 digits, and no other character.',
    example: 'X-Timestamp: 2026-11-22T09:00:34Z',
  },
  clock_difference: {
    ...untimely,
    cause: 'X-Timestamp differs from the clock of the gateway by more than the tolerance.',
    fix: 'Synchronize the clock (NTP), and sign each request immediately before you send it.',
    example: 'a clock that is ten minutes slow',
  },
  nonce_malformed: {
    codes: ['illegal_argument'],
    stage: 'authenticate',
    cause: 'X-Nonce has the wrong length or a character that is not allowed.',
    fix: 'With each request, send a new random nonce of 16 to 64 characters from A-Z, a-z, 0-9, _ and -.',
    example: 'X-Nonce: 42',
  },
  query_with_signed_body: {
    ...ambiguous,
    cause: 'The request has a query, but version 1 signs only the body of this method.',
    fix: 'Move the parameters to the body, or use version 2, which signs both.',
    example: 'POST /device-instance?trace=1 with X-Sign',
  },
  body_with_signed_query: {
    ...ambiguous,
    cause: 'The request has a body, but version 1 signs only the query of this method.',
    fix: 'Send no body with GET, HEAD, DELETE and OPTIONS, or use another method.',
    example: 'GET /api/device with the body {} and X-Sign',
  },
  body_byte_order_mark: {
    codes: ['ambiguous_request', 'invalid_signature'],
    stage: 'authenticate',
    cause: 'The body, or the signed text, begins with a byte order mark.',
    fix: 'Write the body as UTF-8 without a byte order mark.',
    example: 'a body that begins with the bytes EF BB BF',
  },
  body_not_utf8: {
    ...ambiguous,
    cause: 'The body is not UTF-8.',
    fix: 'Encode the body as UTF-8 before you sign and send it.',
    example: 'a body in Latin-1 or GBK',
  },
  parameter_ambiguous: {
    ...ambiguous,
    cause: 'Two parsers could interpret a parameter differently.',
    fix: 'Use no & in a value, no & or = in a key, and no control characters. Send valid percent-encoded UTF-8.',
    example: 'GET /api/device?where=a%26b',
  },
  reply_as_request: {
    ...ambiguous,
    cause: 'The version 1 request looks like a reply of the gateway.',
    fix: 'Rename one of the members status, code, message and timestamp, or use version 2.',
    example: 'a body with only status, code, message and timestamp',
  },
} as const satisfies Readonly<Record<string, FailureReason>>;
