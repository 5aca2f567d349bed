import { type ApiError, failureEnvelope } from '@gatehouse/errors';
import { sent } from './header-names.ts';
import type { StreamedBody } from './streamed-body.ts';

/** A reply to the caller, before it is written. */
export interface Reply {
  readonly status: number;
  /** Name, value, name, value, … The pipeline appends the headers of all replies. */
  readonly headers: string[];
  /** Undefined: the reply has no body (204, 304, the reply to a HEAD). */
  readonly body: Buffer | StreamedBody | undefined;
  /** The reply may stay open for long: server-sent events. */
  readonly isOpenEnded?: boolean;
}

/** On every reply: caches must not store it, and browsers must not guess its type. */
export const protectiveHeaders: readonly string[] = [
  'Cache-Control',
  'no-store',
  'X-Content-Type-Options',
  'nosniff',
];

/** The headers of a reply with JSON that the gateway creates itself. */
export const jsonHeaders: readonly string[] = [
  sent.contentType,
  'application/json',
  ...protectiveHeaders,
];

/** All error replies are created here. */
export function failureReply(error: ApiError, now: number): Reply {
  return {
    status: error.status,
    headers: [...jsonHeaders, ...Object.entries(error.headers).flat()],
    body: Buffer.from(JSON.stringify(failureEnvelope(error, now))),
  };
}
