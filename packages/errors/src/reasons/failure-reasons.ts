/**
 * Why requests fail: every reason with its public codes, stage, cause and fix. The apps log the
 * names, and the command line explains them. A new reason is one entry in the file of its server.
 * A failure without a finer reason has the name of its error code.
 */
import { type ErrorCode, errorCatalogue } from '../error-catalogue.ts';
import { authorizationServerReasons } from './authorization-server-reasons.ts';
import { type FailureReason, reasons } from './failure-reason.ts';
import { gatewayReasons } from './gateway-reasons.ts';
import type { signInReasons } from './sign-in-reasons.ts';
import { signingReasons } from './signing-reasons.ts';

/** An internal error is an `unexpected_error`, as at the authorization server. */
type ReasonOfCode = Exclude<ErrorCode, 'internal_server_error'>;

/** Reasons of the device service, in addition to its error codes. */
export const deviceServiceReasons = {
  ...reasons('authenticate', ['unauthorized'], {
    internal_token_rejected: {
      cause: 'The request has no valid internal token of the gateway.',
      fix: 'Send requests to the gateway: only the gateway may reach the device service. Operators: compare the clocks of both hosts, and check GATEWAY_JWKS_URL and the GATEWAY_URL of both.',
    },
  }),
  ...reasons('authenticate', ['service_unavailable'], {
    gateway_keys_unavailable: {
      cause: 'The device service could not fetch the public keys of the gateway.',
      fix: 'Check GATEWAY_JWKS_URL, and that the device service reaches the operations port of the gateway.',
    },
  }),
  ...reasons('store', ['service_unavailable'], {
    database_unavailable: {
      cause: 'The database of the device service does not answer, or accepts no writes.',
      fix: 'Check PostgreSQL, or the disk of the SQLite file. /ready of the device service shows the failing check.',
    },
  }),
};

/** Reasons that every server can have. */
const serverReasons = {
  ...reasons('store', ['temporarily_unavailable', 'unavailable', 'service_unavailable'], {
    store_unavailable: {
      cause: 'The store is starting, did not answer in time, or the connection to it failed.',
      fix: 'Send the request again after the seconds in Retry-After. Operators: check the store, its URL and the network to it.',
    },
  }),
  ...reasons('read', ['illegal_argument', 'invalid_request'], {
    http_invalid: {
      cause:
        'The bytes are not a valid HTTP/1.1 request, or the header Host is missing, malformed or repeated.',
      fix: 'Use an HTTP library, and send one Host. If the caller speaks TLS or HTTP/2, put a TLS proxy in front of Gatehouse, or use an http URL.',
    },
    target_invalid: {
      cause: 'The path or the query of the request is malformed.',
      fix: 'Send a path that begins with a slash, without control characters and dot segments, and with valid percent-encoded UTF-8 in path and query.',
    },
    framing_ambiguous: {
      cause:
        'The end of the body is unclear. Two servers could split the bytes into different requests.',
      fix: 'Send Content-Length, or Transfer-Encoding: chunked with HTTP/1.1, and not both.',
    },
    body_incomplete: {
      cause: 'The connection closed before the body was complete.',
      fix: 'Check Content-Length, the network, and the timeouts of the client and of proxies.',
    },
  }),
  ...reasons('reply', ['server_error', 'unexpected', 'internal_server_error'], {
    unexpected_error: {
      cause: 'Gatehouse has a defect. The log line contains the error and its stack.',
      fix: 'Report the defect with the request id.',
    },
  }),
  ...reasons('reply', [], {
    caller_left: {
      cause: 'The connection closed before the end of the reply.',
      fix: 'Compare the timeout of the caller and of proxies in front of Gatehouse with the duration of the request.',
    },
    unclassified: {
      cause: 'The request failed without a more precise reason.',
      fix: 'Look up the error code of the reply in docs/errors.md, and search the log for the request id.',
    },
  }),
};

export const failureReasons = {
  ...reasonsOfCodes(),
  ...serverReasons,
  ...gatewayReasons,
  ...signingReasons,
  ...authorizationServerReasons,
  ...deviceServiceReasons,
};

export type FailureReasonName = keyof typeof failureReasons;
/** Why a user was not signed in. */
export type SignInReasonName = keyof typeof signInReasons;
/** Why a signed request failed. */
export type SigningReasonName =
  | keyof typeof signingReasons
  | 'missing_signature'
  | 'ambiguous_request'
  | 'timestamp_out_of_range';

export function isFailureReason(name: string): name is FailureReasonName {
  return Object.hasOwn(failureReasons, name);
}

function reasonsOfCodes(): Readonly<Record<ReasonOfCode, FailureReason>> {
  const { internal_server_error: _defect, ...others } = errorCatalogue;
  return Object.fromEntries(
    Object.entries(others).map(([code, { stage, message, fix }]): [string, FailureReason] => [
      code,
      { codes: [code], stage, cause: message, fix },
    ]),
  ) as Record<ReasonOfCode, FailureReason>;
}
