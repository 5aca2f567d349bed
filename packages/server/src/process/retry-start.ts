import type { RequestListener } from 'node:http';
import { observedRequest } from '../requests/observed-request.ts';

const RETRY_MILLISECONDS = 250;

/**
 * Runs a step of the start that needs the store. If the store is unavailable, the process keeps
 * listening and repeats the step until it succeeds.
 *
 * @param isTransient whether to repeat a failed attempt. Other errors are thrown: by this function
 *   at the first attempt, and later as an unhandled rejection, which ends the process
 */
export async function retryStart(
  step: () => Promise<void>,
  isTransient: (error: unknown) => boolean,
) {
  let isDone = false;
  let isClosed = false;
  let retry: NodeJS.Timeout | undefined;

  async function attempt(): Promise<void> {
    try {
      await step();
      isDone = true;
    } catch (error) {
      // A closing process has already closed the store, so it expects errors.
      if (isClosed) {
        return;
      }
      if (!isTransient(error)) {
        throw error;
      }
      retry = setTimeout(() => void attempt(), RETRY_MILLISECONDS).unref();
    }
  }

  await attempt();
  return {
    /** A readiness check that rejects until an attempt succeeds. */
    async ready(): Promise<void> {
      if (!isDone) {
        throw new Error('The start is not complete yet.');
      }
    },
    /** Stops further attempts. */
    close(): void {
      isClosed = true;
      clearTimeout(retry);
    },
  };
}

/** RFC 6749 §4.1.2.1. The application sends the same reply while its store is unavailable. */
const ERROR_CODE = 'temporarily_unavailable';

/**
 * Builds an application that needs its store to start. Until the store is available, the server
 * listens and replies with 503.
 *
 * @param isTransient whether to repeat `build` after this error, as for `retryStart`
 */
export async function deferListener(
  build: () => Promise<RequestListener>,
  isTransient: (error: unknown) => boolean,
) {
  let application: RequestListener | undefined;
  const start = await retryStart(async () => {
    application = await build();
  }, isTransient);

  return {
    /** Replies with 503 until the application exists. Use it inside `observeRequests`. */
    listener: ((request, response) => {
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
    }) satisfies RequestListener,
    ...start,
  };
}
