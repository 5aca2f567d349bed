import type { ReplyController } from './http1/connection.ts';
import { ConnectionPool } from './http1/connection-pool.ts';
import type { ServiceAddress } from './http1/open-socket.ts';

/** Checks whether a service works. */
export interface HealthProbe {
  /**
   * Resolves to whether a reply with a status below 500 arrived in time. 401 and 404 also show
   * life.
   */
  ask(): Promise<boolean>;
  close(): void;
}

const DEADLINE_MILLISECONDS = 2500;

/** Uses its own connection: all connections for requests may be taken. */
export function createHealthProbe(address: ServiceAddress, path: string): HealthProbe {
  const pool = new ConnectionPool({
    ...address,
    connections: 1,
    connectTimeoutMilliseconds: DEADLINE_MILLISECONDS,
  });
  const headers = ['user-agent', 'gatehouse-gateway', 'accept', '*/*'];
  return {
    ask: () =>
      new Promise((resolve) => {
        let controller: ReplyController | undefined;
        let error: Error | undefined;
        // Also ends a reply whose body does not end: the next probe needs the connection.
        const deadline = setTimeout(() => {
          error = new Error('The service did not answer its health path in time.');
          controller?.abort(error);
          resolve(false);
        }, DEADLINE_MILLISECONDS);
        pool.dispatch(
          { method: 'GET', path, headers },
          {
            onRequestStart(given) {
              controller = given;
              if (error !== undefined) {
                given.abort(error);
              }
            },
            onResponseStart: (_controller, status) => resolve(status < 500),
            onResponseData: () => {},
            onResponseEnd: () => clearTimeout(deadline),
            onResponseError() {
              clearTimeout(deadline);
              resolve(false);
            },
          },
        );
      }),
    close: () => void pool.destroy(),
  };
}
