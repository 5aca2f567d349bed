/** Names of headers that the gateway sends to callers. */
export const sent = {
  allow: 'Allow',
  challenge: 'WWW-Authenticate',
  connection: 'Connection',
  contentLength: 'Content-Length',
  contentType: 'Content-Type',
  requestId: 'X-Request-Id',
  signature1: 'X-Sign',
  signature2: 'X-Sign-V2',
  timestamp: 'X-Timestamp',
  vary: 'Vary',
} as const;

/** Names of headers that the gateway receives, and those that it sends to upstreams. */
export const received = {
  accessToken: 'x-access-token',
  authorization: 'authorization',
  clientId: 'x-client-id',
  connection: 'connection',
  contentLength: 'content-length',
  contentLocation: 'content-location',
  contentType: 'content-type',
  failure: 'x-failure',
  forwardedFor: 'x-forwarded-for',
  keepAlive: 'keep-alive',
  location: 'location',
  nonce: 'x-nonce',
  requestId: 'x-request-id',
  signature1: 'x-sign',
  signature2: 'x-sign-v2',
  timestamp: 'x-timestamp',
  transferEncoding: 'transfer-encoding',
} as const;
