import { AmbiguousTextError } from './ambiguous-text-error.ts';
import type { Digest } from './signature-algorithm.ts';

/** A request as it stands on the wire: version 2 signs it letter by letter, and nothing is decoded. */
export interface RequestToSign {
  /** In capitals. */
  readonly method: string;
  /** As on the request line, escapes included; without host, `?` and query. */
  readonly path: string;
  /** As on the request line, without its `?`; empty where there is none. */
  readonly query: string;
  /** The value of Content-Type, without the blanks around it; empty where there is none. */
  readonly contentType: string;
  /** Empty where there is none. */
  readonly body: string | Uint8Array;
  readonly clientId: string;
  /** The text of X-Timestamp. */
  readonly timestamp: string;
  /** The text of X-Nonce. */
  readonly nonce: string;
}

export interface ReplyToSign {
  readonly status: number;
  /** Of the request that is answered, so that no reply passes for that to another one. */
  readonly nonce: string;
  /** As it is on the wire; empty where there is none. */
  readonly body: string | Uint8Array;
  /** The text of the reply's X-Timestamp. */
  readonly timestamp: string;
}

const NONCE = /^[A-Za-z0-9_-]{16,64}$/;

/** Whether a text may be an `X-Nonce`. */
export function isNonce(text: string): boolean {
  return NONCE.test(text);
}

/**
 * The text that version 2 signs for a request: nine lines, joined by line feeds.
 *
 * @throws AmbiguousTextError when a part could be taken for two lines; in HTTP none can
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
 * The text that version 2 signs for a reply. Its first line is another than that of a request, so that neither
 * is ever taken for the other.
 *
 * @throws AmbiguousTextError as `requestLines` does
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

/** The number of lines is fixed and none holds a line feed: only one list of parts makes this text. */
function joinLines(lines: readonly string[]): string {
  if (lines.some((line) => line.includes('\n'))) {
    throw new AmbiguousTextError('A signed part must not contain a line feed.');
  }
  return lines.join('\n');
}
