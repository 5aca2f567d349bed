import { reasons } from './failure-reason.ts';

/**
 * Why signed requests fail, in addition to error codes. A reply names the reason as `result.cause`.
 */
export const signingReasons = {
  ...reasons('authenticate', ['invalid_signature'], {
    signature_malformed: {
      cause: 'The signature does not have the form of a digest in hexadecimal digits.',
      fix: 'Send only the hexadecimal digits of the digest: 64, or 32 for MD5 in version 1. Base64 and SHA-1 are not accepted.',
    },
    parameters_unsorted: {
      cause: 'The signed parameters are not sorted by key in byte order.',
      fix: 'Sort the parameters by the bytes of the decoded keys, as LC_ALL=C sort does.',
    },
    parameters_encoded: {
      cause: 'The signed parameters are percent-encoded.',
      fix: 'Sign keys and values before they are URL-encoded. Encode them only in the URL or the form.',
    },
    parameters_plus_for_space: {
      cause: 'The signed text has + where the request has a space.',
      fix: 'Sign a space as a space. In a query or form, + means a space. Send a plus sign as %2B.',
    },
    parameters_not_joined: {
      cause: 'A repeated parameter is signed once for each value.',
      fix: 'Join the values of a repeated key with a comma, in the order of the request.',
    },
    query_not_signed: {
      cause: 'The signature does not cover the query.',
      fix: 'Sign the parameters of the query.',
    },
    path_included: {
      cause: 'The signed text contains the path or the ? of the URL.',
      fix: 'In version 1, sign only the parameters or the body. Version 2 signs the path.',
    },
    body_not_signed: {
      cause: 'The signature does not cover the body.',
      fix: 'Sign the bytes of the body.',
    },
    json_serialized_again: {
      cause: 'The signed JSON and the sent JSON have the same meaning, but differ byte for byte.',
      fix: 'Serialize the body once. Sign these bytes, and send the same bytes.',
    },
    line_endings: {
      cause:
        'The signed text and the sent text differ in line endings, or in a line feed at the end.',
      fix: 'Sign exactly what you send. In a shell, use printf instead of echo, and curl --data-binary instead of --data.',
    },
    empty_body_as_json: {
      cause: 'The request has no body, but the signature covers {} or null.',
      fix: 'Sign the empty text for a request without a body, or send the signed value as the body.',
    },
    timestamp_not_signed: {
      cause: 'The signature does not cover X-Timestamp.',
      fix: 'In version 1, append the timestamp to the signed text. In version 2, it is line 8.',
    },
    timestamp_signed_in_seconds: {
      cause: 'The signed timestamp counts seconds, but X-Timestamp counts milliseconds.',
      fix: 'Sign exactly the digits that you send in X-Timestamp.',
    },
    key_not_used: {
      cause: 'The digest was computed without the secure key.',
      fix: 'In version 1, append the secure key to the input of the digest, after the timestamp.',
    },
    key_whitespace: {
      cause: 'The signature was computed with whitespace around the secure key.',
      fix: 'Remove spaces and line feeds around the secure key, for example after you read it from a file.',
    },
    parts_in_wrong_order: {
      cause:
        'Text, timestamp and secure key, or the lines of version 2, were signed in the wrong order.',
      fix: 'In version 1, sign the text, then the timestamp, then the secure key. In version 2, sign the nine lines in the specified order, with the secure key as the key of the HMAC.',
    },
    wrong_digest: {
      cause:
        'The signature was computed with a different digest than the one registered for the client.',
      fix: 'Use the digest that is registered for the client, or ask the operator to change it.',
    },
    hmac_in_version_1: {
      cause: 'X-Sign is an HMAC instead of a digest.',
      fix: 'In version 1, compute a plain digest whose input ends with the secure key. Send an HMAC over the nine lines of version 2 as X-Sign-V2, with X-Nonce.',
    },
    digest_in_version_2: {
      cause:
        'X-Sign-V2 is a plain digest, or covers the text of version 1 instead of the nine lines.',
      fix: 'Compute HMAC-SHA-256 over the nine lines of version 2, with the secure key as the key. To use version 1, send X-Sign.',
    },
    version_1_not_allowed: {
      cause: 'The version 1 signature is correct, but the client may use only version 2.',
      fix: 'Use version 2, or ask the operator to register another signature algorithm.',
    },
    query_not_as_sent: {
      cause: 'The query in the signed lines differs from the query that was sent.',
      fix: 'In version 2, sign the query exactly as in the request line, without ?, decoding or sorting.',
    },
    path_not_as_sent: {
      cause: 'The path in the signed lines differs from the path that was sent.',
      fix: 'Sign the path exactly as in the request line: percent-encoded, without the host and the query.',
    },
    method_not_as_sent: {
      cause:
        'The method in the signed lines is in lower case, but the request line has it in upper case.',
      fix: 'Sign the method in upper case.',
    },
    content_type_not_as_sent: {
      cause: 'The content type in the signed lines differs from the header Content-Type.',
      fix: 'Sign the value of the header as sent. Without the header, the line is empty.',
    },
    body_not_hashed: {
      cause: 'Line 6 is not the SHA-256 of the body in lower-case hexadecimal digits.',
      fix: 'Sign the SHA-256 of the body in lower-case hexadecimal digits, even if the body is empty.',
    },
    line_missing: {
      cause: 'One or more of the nine lines are missing from the signed text.',
      fix: 'Sign all nine lines. For a part that the request does not have, sign an empty line.',
    },
    lines_joined_differently: {
      cause: 'The signed lines are not separated by single line feeds.',
      fix: 'Separate the lines with a line feed (0x0A), with no trailing line feed.',
    },
  }),
  ...reasons('authenticate', ['timestamp_out_of_range'], {
    timestamp_malformed: {
      cause: 'X-Timestamp does not have the 13 digits of epoch milliseconds.',
      fix: 'Send the epoch time in milliseconds, not in seconds, microseconds or as a date, and sign the same 13 digits.',
    },
  }),
  ...reasons('authenticate', ['illegal_argument'], {
    nonce_malformed: {
      cause: 'X-Nonce has the wrong length or a character that is not allowed.',
      fix: 'With each request, send a new random nonce of 16 to 64 characters from A-Z, a-z, 0-9, _ and -.',
    },
  }),
  ...reasons('authenticate', ['ambiguous_request', 'invalid_signature'], {
    form_type_on_json: {
      cause: 'The body is JSON, but its content type is application/x-www-form-urlencoded.',
      fix: 'Send Content-Type: application/json. By default, curl --data sends the content type of a form.',
    },
    body_not_utf8: {
      cause: 'The body is not UTF-8, or the body or the signed text has a byte order mark.',
      fix: 'Sign and send the body as UTF-8 without a byte order mark.',
    },
    query_with_signed_body: {
      cause: 'The request has a query, but version 1 signs only the body of this method.',
      fix: 'Move the parameters to the body, or use version 2, which signs both.',
    },
    body_with_signed_query: {
      cause: 'The request has a body, but version 1 signs only the query of this method.',
      fix: 'Send no body with GET, HEAD, DELETE and OPTIONS, or use another method.',
    },
    parameter_ambiguous: {
      cause: 'Two parsers could interpret a parameter differently.',
      fix: 'Use no & in a value, no & or = in a key, and no control characters. Send valid percent-encoded UTF-8.',
    },
    reply_as_request: {
      cause: 'The version 1 request looks like a reply of the gateway.',
      fix: 'Rename one of the members status, code, message and timestamp, or use version 2.',
    },
  }),
};
