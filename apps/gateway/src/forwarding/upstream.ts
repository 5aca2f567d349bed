import type { Readable } from 'node:stream';
import { ApiError, serviceUnavailable } from '@gatehouse/api-envelope';
import { Pool } from 'undici';
import { UpstreamCall, type UpstreamReply } from './upstream-call.ts';

export interface UpstreamRequest {
  readonly method: string;
  /** Path and query. */
  readonly target: string;
  /** Name, value, name, value, … */
  readonly headers: readonly string[];
  readonly body: Uint8Array | Readable | undefined;
  readonly timeoutMilliseconds: number;
}

/** An exchange that runs: its reply, and the way to end it early. */
export interface UpstreamExchange {
  /** Rejects with an ApiError: `bad_gateway`, `timeout` or `service_unavailable`. */
  readonly reply: Promise<UpstreamReply>;
  /** After the end of the exchange it does nothing, not even make the error. */
  cancel(reason: () => Error): void;
}

export interface Upstream {
  send(request: UpstreamRequest): UpstreamExchange;
  close(): Promise<void>;
}

export interface UpstreamOptions {
  readonly url: string;
  readonly connections: number;
  /** In flight or waiting for a connection; more are told to come back later. */
  readonly maximumRequests: number;
}

/** Short, so that a refused or unresolvable upstream is a 502 within a second. */
const CONNECT_TIMEOUT_MILLISECONDS = 900;

/**
 * A bounded pool of connections to one service. Nothing is ever sent twice: after a lost reply only the
 * caller can know whether the operation may be repeated.
 */
export function createUpstream(options: UpstreamOptions): Upstream {
  const { origin, pathname } = new URL(options.url);
  const prefix = pathname === '/' ? '' : pathname;
  const pool = new Pool(origin, {
    connections: options.connections,
    connectTimeout: CONNECT_TIMEOUT_MILLISECONDS,
    autoSelectFamily: true,
    allowH2: false,
    // One deadline for the whole exchange stands in for undici's own two, which a trickle would outlive.
    headersTimeout: 0,
    bodyTimeout: 0,
  });
  let running = 0;

  return {
    send(request) {
      if (running >= options.maximumRequests) {
        throw serviceUnavailable(new Error('Too many requests are waiting for the upstream.'));
      }
      running += 1;
      const call = new UpstreamCall(() => {
        running -= 1;
        clearTimeout(deadline);
      });
      const deadline = setTimeout(
        () => call.cancel(() => new ApiError('timeout')),
        request.timeoutMilliseconds,
      );
      pool.dispatch(
        {
          method: request.method,
          path: prefix + request.target,
          headers: request.headers as string[],
          body: request.body ?? null,
        },
        call,
      );
      return {
        reply: call.reply,
        cancel: (reason) => call.cancel(reason),
      };
    },
    close: () => pool.close(),
  };
}
