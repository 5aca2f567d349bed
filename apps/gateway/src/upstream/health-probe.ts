import type { ReplyController } from './http1/connection.ts';
import { ConnectionPool } from './http1/connection-pool.ts';

/** Asks a service whether it works. */
export interface HealthProbe {
  /** Whether a reply with a status below 500 came in time. 401 and 404 are signs of life, too. */
  ask(): Promise<boolean>;
  close(): void;
}

const DEADLINE_MILLISECONDS = 2500;

/** On a connection of its own: those for requests may all be taken. */
export function createHealthProbe(upstreamUrl: URL, path: string): HealthProbe {
  const pool = new ConnectionPool({
    url: upstreamUrl,
    connections: 1,
    connectTimeoutMilliseconds: DEADLINE_MILLISECONDS,
  });
  const headers = ['user-agent', 'gatehouse-gateway', 'accept', '*/*'];
  return {
    ask: () =>
      new Promise((resolve) => {
        let controller: ReplyController | undefined;
        let error: Error | undefined;
        // Also where the head came and the body does not end: the next probe needs the connection.
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
