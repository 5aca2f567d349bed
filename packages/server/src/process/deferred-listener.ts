import type { RequestListener } from 'node:http';
import { observedRequest } from '../requests/observed-request.ts';
import { type RetriedStart, retryStart } from './retry-start.ts';

/** RFC 6749 §4.1.2.1. The application sends the same reply while its store is unavailable. */
const ERROR_CODE = 'temporarily_unavailable';

export interface DeferredListener extends RetriedStart {
  /** Replies with 503 until the application exists. Use it inside `observeRequests`. */
  readonly listener: RequestListener;
}

/**
 * Builds an application that needs its store to start. Until the store is available, the server
 * listens and replies with 503.
 *
 * @param isTransient whether to repeat `build` after this error, as for `retryStart`
 */
export async function deferListener(
  build: () => Promise<RequestListener>,
  isTransient: (error: unknown) => boolean,
): Promise<DeferredListener> {
  let application: RequestListener | undefined;
  const start = await retryStart(async () => {
    application = await build();
  }, isTransient);

  return {
    listener(request, response) {
      if (application !== undefined) {
        application(request, response);
        return;
      }
      // The log already contains the state change of the store.
      const { notes } = observedRequest(request);
      notes.operation = 'unmatched';
      notes.code = ERROR_CODE;
      notes.reason = 'store_unavailable';
      response.writeHead(503, {
        'Content-Type': 'application/json;charset=UTF-8',
        'Cache-Control': 'no-store',
        Pragma: 'no-cache',
        'Retry-After': '1',
      });
      response.end(
        JSON.stringify({
          error: ERROR_CODE,
          error_description: 'The server is starting and its store is not available yet.',
        }),
      );
    },
    ready: start.ready,
    close: start.close,
  };
}
