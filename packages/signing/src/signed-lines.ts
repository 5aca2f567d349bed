import type { Digest } from './signature.ts';
import { AmbiguousTextError } from './version-1-text.ts';

/** Version 2 signs a request exactly as sent, without decoding. */
export interface RequestToSign {
  /** In upper case. */
  readonly method: string;
  /** Percent-encoded as sent, without host and query. */
  readonly path: string;
  /** Percent-encoded as sent, without `?`. Empty if absent. */
  readonly query: string;
  /** The value of `Content-Type` without surrounding white space. Empty if absent. */
  readonly contentType: string;
  /** Empty if absent. */
  readonly body: string | Uint8Array;
  readonly clientId: string;
  /** The value of `X-Timestamp`. */
  readonly timestamp: string;
  /** The value of `X-Nonce`. */
  readonly nonce: string;
}

export interface ReplyToSign {
  readonly status: number;
  /** The nonce of the request, so that an attacker cannot use the reply for another request. */
  readonly nonce: string;
  /** Empty if absent. */
  readonly body: string | Uint8Array;
  /** The value of `X-Timestamp` in the reply. */
  readonly timestamp: string;
}

const NONCE = /^[A-Za-z0-9_-]{16,64}$/;

/** Whether the text is a valid `X-Nonce`. */
export function isNonce(text: string): boolean {
  return NONCE.test(text);
}

/**
 * The text that version 2 signs for a request: nine lines, joined by line feeds.
 *
 * @throws AmbiguousTextError if a part contains a line feed, which is impossible in HTTP
 */
export function requestLines(request: RequestToSign, digest: Digest): string {
  return joinLines([
    'GATEHOUSE-V2',
    request.method,
    request.path,
    request.query,
    request.contentType,
    digest('SHA-256', [request.body]),
    request.clientId,
    request.timestamp,
    request.nonce,
  ]);
}

/**
 * The text that version 2 signs for a reply. Its first line differs from that of a request, so an
 * attacker cannot replay the signature of a reply as a request.
 *
 * @throws AmbiguousTextError if a part contains a line feed, which is impossible in HTTP
 */
export function replyLines(reply: ReplyToSign, digest: Digest): string {
  return joinLines([
    'GATEHOUSE-V2-REPLY',
    String(reply.status),
    reply.nonce,
    digest('SHA-256', [reply.body]),
    reply.timestamp,
  ]);
}

/** No line contains a line feed, so no other list of parts produces the same text. */
function joinLines(lines: readonly string[]): string {
  if (lines.some((line) => line.includes('\n'))) {
    throw new AmbiguousTextError('A signed part must not contain a line feed.');
  }
  return lines.join('\n');
}
