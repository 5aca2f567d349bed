import type { FailureReason } from './failure-reason.ts';

const mistake = { codes: ['invalid_signature'], stage: 'authenticate' } as const;

/** Mistakes that a reply names only to a caller that signed with a key of the client. */
export const signingMistakeReasons = {
  parameters_unsorted: {
    ...mistake,
    cause: 'The signed parameters are not sorted by key in byte order.',
    fix: 'Sort the parameters by the bytes of the decoded keys, as LC_ALL=C sort does.',
    example: 'signed pageSize=20&pageIndex=0 instead of pageIndex=0&pageSize=20',
  },
  parameters_encoded: {
    ...mistake,
    cause: 'The signed parameters are percent-encoded.',
    fix: 'Sign keys and values before they are URL-encoded. Encode them only in the URL or the form.',
    example: 'signed name=a%20b instead of name=a b',
  },
  parameters_plus_for_space: {
    ...mistake,
    cause: 'The signed text has + where the request has a space.',
    fix: 'Sign a space as a space. In a query or form, + means a space. Send a plus sign as %2B.',
    example: 'signed name=a+b instead of name=a b',
  },
  parameters_not_joined: {
    ...mistake,
    cause: 'A repeated parameter is signed once for each value.',
    fix: 'Join the values of a repeated key with a comma, in the order of the request.',
    example: 'signed a=1&a=2 instead of a=1,2',
  },
  query_not_signed: {
    ...mistake,
    cause: 'The signature does not cover the query.',
    fix: 'Sign the parameters of the query.',
    example: 'signed only timestamp and secure key for GET /api/device?pageSize=20',
  },
  query_question_mark: {
    ...mistake,
    cause: 'The signed text contains the ? of the URL.',
    fix: 'Begin the signed text with the first parameter.',
    example: 'signed ?pageSize=20',
  },
  path_included: {
    ...mistake,
    cause: 'The signed text contains the path.',
    fix: 'In version 1, sign only the parameters or the body. Version 2 signs the path.',
    example: 'signed /api/device?pageSize=20',
  },
  body_not_signed: {
    ...mistake,
    cause: 'The signature does not cover the body.',
    fix: 'Sign the bytes of the body.',
    example: 'signed only timestamp and secure key for a POST with a body',
  },
  json_serialized_again: {
    ...mistake,
    cause: 'The signed JSON and the sent JSON have the same meaning, but differ byte for byte.',
    fix: 'Serialize the body once. Sign these bytes, and send the same bytes.',
    example: 'signed {"id": "d1"}, sent {"id":"d1"}',
  },
  trailing_newline: {
    ...mistake,
    cause:
      'The signed text ends with a line feed that the sent body does not have, or the reverse.',
    fix: 'Sign exactly what you send. In a shell, use printf instead of echo.',
    example: "echo '{}' | sha256sum",
  },
  line_endings: {
    ...mistake,
    cause: 'The signed body and the sent body have different line endings.',
    fix: 'Sign and send the same bytes. With curl, use --data-binary instead of --data.',
    example: 'signed with CR LF, sent with LF',
  },
  empty_body_as_json: {
    ...mistake,
    cause: 'The request has no body, but the signature covers {} or null.',
    fix: 'Sign the empty text for a request without a body, or send the signed value as the body.',
    example: 'signed {} for a POST without a body',
  },
  form_type_on_json: {
    codes: ['invalid_signature', 'ambiguous_request'],
    stage: 'authenticate',
    cause: 'The body is JSON, but its content type is application/x-www-form-urlencoded.',
    fix: 'Send Content-Type: application/json. By default, curl --data sends the content type of a form.',
    example: "curl --data '{}' without -H 'Content-Type: application/json'",
  },
  timestamp_not_signed: {
    ...mistake,
    cause: 'The signature does not cover X-Timestamp.',
    fix: 'In version 1, append the timestamp to the signed text. In version 2, it is line 8.',
    example: 'sha256(text + secureKey)',
  },
  timestamp_signed_in_seconds: {
    ...mistake,
    cause: 'The signed timestamp counts seconds, but X-Timestamp counts milliseconds.',
    fix: 'Sign exactly the digits that you send in X-Timestamp.',
    example: 'signed 1795167634, sent 1795167634189',
  },
  key_not_used: {
    ...mistake,
    cause: 'The digest was computed without the secure key.',
    fix: 'In version 1, append the secure key to the input of the digest, after the timestamp.',
    example: 'sha256(text + timestamp)',
  },
  parts_in_wrong_order: {
    ...mistake,
    cause:
      'Text, timestamp and secure key, or the lines of version 2, were signed in the wrong order.',
    fix: 'In version 1, sign the text, then the timestamp, then the secure key. In version 2, sign the nine lines in the specified order, with the secure key as the key of the HMAC.',
    example: 'sha256(secureKey + text + timestamp)',
  },
  wrong_digest: {
    ...mistake,
    cause:
      'The signature was computed with a different digest than the one registered for the client.',
    fix: 'Use the digest that is registered for the client, or ask the operator to change it.',
    example: 'MD5 for a client that is registered with SHA-256',
  },
  hmac_in_version_1: {
    ...mistake,
    cause: 'X-Sign is an HMAC instead of a digest.',
    fix: 'In version 1, compute a plain digest whose input ends with the secure key. For an HMAC, use version 2.',
    example: 'hmac_sha256(secureKey, text + timestamp) in X-Sign',
  },
  digest_in_version_2: {
    ...mistake,
    cause: 'X-Sign-V2 is a plain digest instead of an HMAC.',
    fix: 'Compute HMAC-SHA-256 over the lines, with the secure key as the key.',
    example: 'sha256(lines + secureKey) in X-Sign-V2',
  },
  version_1_text_in_version_2: {
    ...mistake,
    cause: 'X-Sign-V2 covers the text of version 1 instead of the nine lines.',
    fix: 'Sign the nine lines of version 2. To use version 1, send a plain digest of the text, the timestamp and the secure key as X-Sign.',
    example: 'sha256(text + timestamp + secureKey) in X-Sign-V2',
  },
  version_2_text_in_version_1: {
    ...mistake,
    cause: 'X-Sign covers the lines of version 2 instead of the text of version 1.',
    fix: 'Send the signature as X-Sign-V2, together with X-Nonce.',
    example: 'hmac_sha256(secureKey, lines) in X-Sign',
  },
  version_1_not_allowed: {
    ...mistake,
    cause: 'The version 1 signature is correct, but the client may use only version 2.',
    fix: 'Use version 2, or ask the operator to register another signature algorithm.',
    example: 'X-Sign of a client that is registered with HMAC-SHA-256',
  },
  key_whitespace: {
    ...mistake,
    cause: 'The signature was computed with whitespace around the secure key.',
    fix: 'Remove spaces and line feeds around the secure key, for example after you read it from a file.',
    example: 'a key file with a line feed at its end',
  },
  key_removed: {
    ...mistake,
    cause: 'The signature was made with a secure key that was removed or replaced.',
    fix: 'Use the current secure key of the client.',
    example: 'the old key after `gatehouse clients remove-key`',
  },
  query_not_as_sent: {
    ...mistake,
    cause: 'The query in the signed lines differs from the query that was sent.',
    fix: 'In version 2, sign the query exactly as in the request line, without decoding or sorting.',
    example: 'signed name=a b, sent name=a%20b',
  },
  path_not_as_sent: {
    ...mistake,
    cause: 'The path in the signed lines differs from the path that was sent.',
    fix: 'Sign the path exactly as in the request line: percent-encoded, without the host and the query.',
    example: 'signed https://gateway.example/api/device',
  },
  method_not_as_sent: {
    ...mistake,
    cause:
      'The method in the signed lines is in lower case, but the request line has it in upper case.',
    fix: 'Sign the method in upper case.',
    example: 'signed get',
  },
  content_type_not_as_sent: {
    ...mistake,
    cause: 'The content type in the signed lines differs from the header Content-Type.',
    fix: 'Sign the value of the header as sent. Without the header, the line is empty.',
    example: 'signed application/json, sent application/json; charset=utf-8',
  },
  body_not_hashed: {
    ...mistake,
    cause: 'Line 6 is not the SHA-256 of the body in lower-case hexadecimal digits.',
    fix: 'Sign the SHA-256 of the body in lower-case hexadecimal digits, even if the body is empty.',
    example: 'the body itself, or an empty line for an empty body',
  },
  line_missing: {
    ...mistake,
    cause: 'One or more of the nine lines are missing from the signed text.',
    fix: 'Sign all nine lines. For a part that the request does not have, sign an empty line.',
    example: 'lines without GATEHOUSE-V2, or without the empty line of the content type',
  },
  lines_joined_differently: {
    ...mistake,
    cause: 'The signed lines are not separated by single line feeds.',
    fix: 'Separate the lines with a line feed (0x0A), with no trailing line feed.',
    example: 'CR LF between the lines, or a trailing line feed',
  },
} as const satisfies Readonly<Record<string, FailureReason>>;
