import type { FailureReason } from './failure-reason.ts';

/** Reasons that every app can have. */
export const serverReasons = {
  store_unavailable: {
    codes: ['temporarily_unavailable', 'unavailable', 'service_unavailable'],
    stage: 'store',
    cause: 'The store did not answer in time, or the connection to it failed.',
    fix: 'Send the request again after the seconds in Retry-After. Operators: check the store and the network to it.',
    example: 'Redis is restarting',
  },
  server_starting: {
    codes: ['temporarily_unavailable', 'service_unavailable'],
    stage: 'store',
    cause: 'The server is starting, and its store is not available yet.',
    fix: 'Send the request again after the seconds in Retry-After. Operators: start the store, and check its URL.',
    example: 'the first seconds after docker compose up',
  },
  http_invalid: {
    codes: ['illegal_argument'],
    stage: 'read',
    cause: 'The bytes are not a valid HTTP/1.1 request.',
    fix: 'Use an HTTP library. If the caller speaks TLS or HTTP/2, put a TLS proxy in front of Gatehouse, or use an http URL.',
    example: 'https:// with the port of a server without TLS',
  },
  unexpected_error: {
    codes: ['server_error', 'unexpected', 'internal_server_error'],
    stage: 'reply',
    cause: 'Gatehouse has a defect. The log line contains the error and its stack.',
    fix: 'Report the defect with the request id.',
    example: 'an exception that no code expects',
  },
} as const satisfies Readonly<Record<string, FailureReason>>;
