import { parseEnvelope } from '@gatehouse/signing/core';
import { failureOf, requestIdOf } from './envelope.ts';
import { GatehouseError } from './gatehouse-error.ts';

export interface ReceivedReply {
  readonly response: Response;
  /** The body as received. */
  readonly bytes: Uint8Array;
}

const STATUSES_WITHOUT_BODY = new Set([204, 205, 304]);

export function toVerifiedResponse({ response, bytes }: ReceivedReply): Response {
  const { status, statusText, headers, url } = response;
  const body = STATUSES_WITHOUT_BODY.has(status) ? null : (bytes as Uint8Array<ArrayBuffer>);
  const verified = new Response(body, { status, statusText, headers });
  return Object.defineProperty(verified, 'url', { value: url });
}

/** What the gateway replies, unsigned, when it rejects a request or cannot verify it. */
const REJECTIONS = new Set([
  'ambiguous_request',
  'headers_too_large',
  'internal_server_error',
  'invalid_signature',
  'missing_signature',
  'multiple_credentials',
  'payload_too_large',
  'replayed_request',
  'request_timeout',
  'service_unavailable',
  'timestamp_out_of_range',
  'too_many_requests',
  'unauthorized',
  'unsupported_media_type',
]);

/**
 * An unsigned reply can come from anybody, so the caller learns its code only if the code claims
 * nothing about the resource. A forged `not_found` would look like an answer.
 */
export function unverifiedFailure({ response, bytes }: ReceivedReply): GatehouseError {
  const envelope = parseEnvelope(response.status, new TextDecoder().decode(bytes));
  if (envelope !== undefined && REJECTIONS.has(envelope.code)) {
    return failureOf(response, envelope);
  }
  return new GatehouseError(
    'unverified_reply',
    'The reply has no valid signature of the gateway. It may be forged.',
    {
      status: response.status,
      requestId: requestIdOf(response),
      hint: 'Check the address of the gateway, and whether a proxy changes or writes replies.',
    },
  );
}
