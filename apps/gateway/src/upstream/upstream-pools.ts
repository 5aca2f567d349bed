import { Pool } from 'undici';
import { ConnectionPool } from './http1/connection-pool.ts';
import { addLoads } from './http1/pool-load.ts';
import type { UpgradeCall } from './upgrade-call.ts';
import type { UpstreamCall } from './upstream-call.ts';
import { isStream, type UpstreamRequest } from './upstream-request.ts';

export interface PoolOptions {
  readonly url: string;
  /** Path of a Unix socket to connect to instead of the host and port of the URL. */
  readonly socketPath?: string | undefined;
  readonly connections: number;
  /** Separate connections for streams and large bodies, so that ordinary requests keep theirs. */
  readonly streamConnections: number;
}

/** Short, so that a service that cannot be reached is a 502 within a second. */
const CONNECT_TIMEOUT_MILLISECONDS = 900;

/**
 * Opens the pools of one upstream. undici opens only WebSockets, so its replies reach no caller.
 */
export function openPools(options: PoolOptions) {
  const { socketPath, connections, streamConnections } = options;
  const url = new URL(options.url);
  const prefix = url.pathname === '/' ? '' : url.pathname;
  const openPool = (limit: number) =>
    new ConnectionPool({
      url,
      socketPath,
      connections: limit,
      connectTimeoutMilliseconds: CONNECT_TIMEOUT_MILLISECONDS,
    });
  const requests = openPool(connections);
  const streams = openPool(streamConnections);
  const upgrades = new Pool(url.origin, {
    ...(socketPath !== undefined && { socketPath }),
    connections: streamConnections,
    connectTimeout: CONNECT_TIMEOUT_MILLISECONDS,
    autoSelectFamily: true,
    allowH2: false,
    // The deadline of the handshake stands in for undici's own.
    headersTimeout: 0,
    bodyTimeout: 0,
  });
  return {
    load: () => ({ requests: requests.load, streams: addLoads(streams.load, upgrades.stats) }),
    /** How many requests wait for a connection. */
    waiting: () => requests.load.pending,
    send({ method, target, headers, body, streaming }: UpstreamRequest, call: UpstreamCall): void {
      const pool = streaming || isStream(body) ? streams : requests;
      pool.dispatch({ method, path: prefix + target, headers, body }, call);
    },
    upgrade(
      { target, headers }: Omit<UpstreamRequest, 'body' | 'streaming'>,
      call: UpgradeCall,
    ): void {
      const path = prefix + target;
      upgrades.dispatch({ method: 'GET', path, headers: [...headers], upgrade: 'websocket' }, call);
    },
    close: async () => {
      await Promise.all([requests.close(), streams.destroy(), upgrades.destroy()]);
    },
  };
}
