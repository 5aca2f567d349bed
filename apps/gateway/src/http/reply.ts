import { type ApiError, failureEnvelope } from '@gatehouse/api-envelope';
import type { StreamedBody } from './streamed-body.ts';

/** What goes back to the caller, before it is written. */
export interface Reply {
  readonly status: number;
  /** Name, value, name, value, … The reply's own list: what all replies carry is added to it. */
  readonly headers: string[];
  /** Undefined: the reply has none (204, 304, the reply to a HEAD). */
  readonly body: Buffer | StreamedBody | undefined;
  /** It may stay open for long: server-sent events. */
  readonly isOpenEnded?: boolean;
}

/** On every reply: what the gateway answers is for this caller only, and is what it says it is. */
export const protectiveHeaders: readonly string[] = [
  'Cache-Control',
  'no-store',
  'X-Content-Type-Options',
  'nosniff',
];

/** The one place that words a failure. */
export function failureReply(error: ApiError, now: number): Reply {
  return {
    status: error.status,
    headers: [
      'Content-Type',
      'application/json',
      ...protectiveHeaders,
      ...Object.entries(error.headers).flat(),
    ],
    body: Buffer.from(JSON.stringify(failureEnvelope(error, now))),
  };
}
