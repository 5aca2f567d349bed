import type { IncomingMessage } from 'node:http';
import type { ClientRegistry } from '@gatehouse/identity';
import type { Reply } from '../messages.ts';
import type { Route } from '../routes/route.ts';

const ALLOWED_METHODS = 'GET, HEAD, POST, PUT, PATCH, DELETE';
const ALLOWED_HEADERS =
  'Authorization, X-Access-Token, X-Client-Id, X-Timestamp, X-Sign, X-Sign-V2, X-Nonce, Content-Type, ' +
  'Accept-Language, If-Match, If-None-Match, Idempotency-Key, Last-Event-ID, Mcp-Session-Id, MCP-Protocol-Version, ' +
  'Prefer, Range, X-Request-Id, traceparent, tracestate';
const EXPOSED_HEADERS =
  'X-Total-Count, X-Request-Id, X-Timestamp, X-Sign, X-Sign-V2, WWW-Authenticate, Retry-After, ' +
  'RateLimit, RateLimit-Policy, ETag, Location, Content-Range, Mcp-Session-Id';
const PREFLIGHT_SECONDS = '600';

export type CrossOrigin = ReturnType<typeof createCrossOrigin>;

/**
 * CORS for registered origins. A preflight names no client, so an origin of any client gets a
 * positive answer. Only the origins of the verified client can read the reply to a request.
 */
export function createCrossOrigin(clients: ClientRegistry, routes: readonly Route[]) {
  const ofRoutes = new Set(routes.flatMap(({ requestHeaders }) => requestHeaders));
  const allowedHeaders = [ALLOWED_HEADERS, ...ofRoutes].join(', ');

  async function isReadableFor(origin: string, clientId: string | undefined): Promise<boolean> {
    if (clientId === undefined) {
      return clients.hasOrigin(origin);
    }
    return (await clients.find(clientId))?.corsOrigins.includes(origin) === true;
  }

  return {
    /** Returns undefined for anything but a preflight from a registered origin. */
    async answerPreflight({ method, headers }: IncomingMessage): Promise<Reply | undefined> {
      const { origin } = headers;
      const isPreflight =
        method === 'OPTIONS' && headers['access-control-request-method'] !== undefined;
      if (!isPreflight || origin === undefined || !(await clients.hasOrigin(origin))) {
        return undefined;
      }
      return {
        status: 204,
        headers: [
          ...['Access-Control-Allow-Methods', ALLOWED_METHODS],
          ...['Access-Control-Allow-Headers', allowedHeaders],
          ...['Access-Control-Max-Age', PREFLIGHT_SECONDS],
        ],
        body: undefined,
      };
    },
    /** @param clientId undefined if the request was not verified */
    async replyHeaders(origin: string, clientId: string | undefined): Promise<readonly string[]> {
      const isReadable = await isReadableFor(origin, clientId).catch(() => undefined);
      const vary = ['Vary', 'Origin'];
      if (isReadable === undefined) {
        // While the store is unavailable, no origin counts as registered. A cache must not keep that.
        return [...vary, 'Cache-Control', 'no-store'];
      }
      return isReadable
        ? [
            ...['Access-Control-Allow-Origin', origin],
            ...['Access-Control-Expose-Headers', EXPOSED_HEADERS],
            ...vary,
          ]
        : vary;
    },
  };
}
