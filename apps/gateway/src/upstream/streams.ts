import { Client, type Dispatcher, Pool } from 'undici';
import type { BodyStream, UpstreamCall } from './call.ts';
import type { ServiceAddress } from './open-socket.ts';

const PROBE_MILLISECONDS = 2500;

/**
 * Streams, uploads and WebSockets through undici. Each gets its own connection, so that no part of a
 * reply can reach another caller, and a balancer chooses a server for each.
 */
export function openStreams({
  url: { origin },
  socketPath,
  connections,
  connectTimeoutMilliseconds,
}: ServiceAddress & { readonly connections: number; readonly connectTimeoutMilliseconds: number }) {
  const options = {
    ...(socketPath !== undefined && { socketPath }),
    pipelining: 0,
    autoSelectFamily: true,
    allowH2: false,
    // The deadlines of the calls stand in for undici's own.
    headersTimeout: 0,
    bodyTimeout: 0,
  };
  const pool = new Pool(origin, {
    ...options,
    connections,
    connectTimeout: connectTimeoutMilliseconds,
  });
  // Its own connection: all connections for requests may be taken.
  const probe = new Client(origin, { ...options, connectTimeout: PROBE_MILLISECONDS });
  return {
    send(
      request: {
        readonly method: string;
        readonly path: string;
        readonly headers: readonly string[];
        readonly body: Uint8Array | BodyStream | undefined;
      },
      call: UpstreamCall,
    ): void {
      const { method, path, body } = request;
      const headers = [...request.headers];
      const isBuffered = body === undefined || body instanceof Uint8Array;
      if (!isBuffered && body.length !== undefined) {
        headers.push('content-length', String(body.length));
      }
      pool.dispatch(
        {
          method: method as Dispatcher.HttpMethod,
          path,
          headers,
          body: isBuffered ? (body ?? null) : body.stream,
        },
        call,
      );
    },
    upgrade(path: string, headers: readonly string[], call: UpstreamCall): void {
      pool.dispatch({ method: 'GET', path, headers: [...headers], upgrade: 'websocket' }, call);
    },
    /** Whether a status below 500 arrives in time. 401 and 404 also show life. */
    async isHealthy(path: string): Promise<boolean> {
      try {
        const { statusCode, body } = await probe.request({
          method: 'GET',
          path,
          headers: { 'user-agent': 'gatehouse-gateway', accept: '*/*' },
          signal: AbortSignal.timeout(PROBE_MILLISECONDS),
        });
        body.on('error', () => {}).destroy();
        return statusCode < 500;
      } catch {
        return false;
      }
    },
    load() {
      const { connected, free, running, pending } = pool.stats;
      return { connected, free, running, pending };
    },
    async close(): Promise<void> {
      await Promise.all([pool.destroy(), probe.destroy()]);
    },
  };
}
