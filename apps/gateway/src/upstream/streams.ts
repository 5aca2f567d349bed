import { Client, type Dispatcher, Pool } from 'undici';
import type { UpstreamCall } from './call.ts';
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
  connectTimeoutMilliseconds: connectTimeout,
}: ServiceAddress & { readonly connections: number; readonly connectTimeoutMilliseconds: number }) {
  const options = {
    ...(socketPath !== undefined && { socketPath }),
    // `Connection: close`
    pipelining: 0,
    autoSelectFamily: true,
    allowH2: false,
    // The deadlines of the calls stand in for undici's own.
    headersTimeout: 0,
    bodyTimeout: 0,
  };
  const pool = new Pool(origin, { ...options, connections, connectTimeout });
  // Its own connection: all connections for requests may be taken.
  const probe = new Client(origin, { ...options, connectTimeout: PROBE_MILLISECONDS });
  return {
    send(call: UpstreamCall, upgrade?: 'websocket'): void {
      const { path, upload } = call.request;
      const method = call.request.method as Dispatcher.HttpMethod;
      const length = upload?.length === undefined ? [] : ['content-length', String(upload.length)];
      const headers = [...call.request.headers, ...length];
      const body = upload?.stream ?? call.request.body ?? null;
      pool.dispatch({ method, path, headers, body, upgrade: upgrade ?? null }, call);
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
