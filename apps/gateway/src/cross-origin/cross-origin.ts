import type { IncomingMessage } from 'node:http';
import type { ClientRegistry, RegisteredOrigins } from '@gatehouse/identity';
import type { Reply } from '../http/reply.ts';

/**
 * CORS for the origins that clients registered. A preflight names no client, so it is answered for an origin
 * of any; the reply to a verified request is readable for the origins of its own client only.
 */
export interface CrossOrigin {
  /** The answer to a preflight of a registered origin; undefined for everything else. */
  answerPreflight(message: IncomingMessage): Promise<Reply | undefined>;
  /** @param clientId undefined where nobody was verified */
  replyHeaders(origin: string, clientId: string | undefined): Promise<readonly string[]>;
}

const ALLOWED_METHODS = 'GET, HEAD, POST, PUT, PATCH, DELETE';
const ALLOWED_HEADERS =
  'Authorization, X-Access-Token, X-Client-Id, X-Timestamp, X-Sign, X-Sign-V2, X-Nonce, Content-Type, ' +
  'Accept-Language, If-Match, If-None-Match, Idempotency-Key, Prefer, Range, X-Request-Id, traceparent, tracestate';
const EXPOSED_HEADERS =
  'X-Total-Count, X-Request-Id, X-Timestamp, X-Sign, X-Sign-V2, WWW-Authenticate, Retry-After, ' +
  'RateLimit, RateLimit-Policy, ETag, Location, Content-Range';
const PREFLIGHT_SECONDS = '600';

export function createCrossOrigin(dependencies: {
  readonly registeredOrigins: RegisteredOrigins;
  readonly clients: ClientRegistry;
}): CrossOrigin {
  const { registeredOrigins, clients } = dependencies;

  async function isReadableFor(origin: string, clientId: string | undefined): Promise<boolean> {
    if (clientId === undefined) {
      return registeredOrigins.has(origin);
    }
    return (await clients.find(clientId))?.corsOrigins.includes(origin) === true;
  }

  return {
    async answerPreflight({ method, headers }) {
      const { origin } = headers;
      const isPreflight =
        method === 'OPTIONS' && headers['access-control-request-method'] !== undefined;
      if (!isPreflight || origin === undefined || !(await registeredOrigins.has(origin))) {
        return undefined;
      }
      return {
        status: 204,
        headers: [
          'Access-Control-Allow-Methods',
          ALLOWED_METHODS,
          'Access-Control-Allow-Headers',
          ALLOWED_HEADERS,
          'Access-Control-Max-Age',
          PREFLIGHT_SECONDS,
        ],
        body: undefined,
      };
    },
    async replyHeaders(origin, clientId) {
      // Where the store cannot say who registered what, nobody did; the reply itself is a 503 then.
      const isReadable = await isReadableFor(origin, clientId).catch(() => false);
      return isReadable
        ? [
            'Access-Control-Allow-Origin',
            origin,
            'Access-Control-Expose-Headers',
            EXPOSED_HEADERS,
            'Vary',
            'Origin',
          ]
        : ['Vary', 'Origin'];
    },
  };
}
