import type { RequestListener } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { observedRequest } from './observed-request.ts';

const RETRY_MILLISECONDS = 250;
/** RFC 6749 §4.1.2.1, and what the built application answers while its store is away. */
const ERROR_CODE = 'temporarily_unavailable';

export interface DeferredListener {
  /** Answers 503 until the application could be built. Belongs inside `observeRequests`. */
  readonly listener: RequestListener;
  /** Rejects until then: a readiness check. */
  ready(): Promise<void>;
  close(): void;
}

/**
 * Builds an application that needs its store to start. A store that is away does not end the process: it
 * listens, says 503, and tries again until the store is there.
 *
 * @param isTransient whether an error of `build` is worth another try. Any other one is thrown: by this
 *   function at the first attempt, as an uncaught exception, which ends the process, at a later one
 */
export async function deferListener(
  build: () => Promise<RequestListener>,
  isTransient: (error: unknown) => boolean,
): Promise<DeferredListener> {
  let application: RequestListener | undefined;
  let closed = false;

  async function attempt(): Promise<boolean> {
    try {
      application = await build();
    } catch (error) {
      if (!isTransient(error)) {
        throw error;
      }
    }
    return application !== undefined;
  }

  async function keepTrying(): Promise<void> {
    do {
      await sleep(RETRY_MILLISECONDS, undefined, { ref: false });
    } while (!closed && !(await attempt()));
  }

  if (!(await attempt())) {
    keepTrying().catch((error: unknown) => {
      // Out of the promise, so that it ends the process however unhandled rejections are treated. Not
      // while the process is ending anyway: then the store was closed under the attempt.
      if (!closed) {
        process.nextTick(() => {
          throw error;
        });
      }
    });
  }

  return {
    listener(request, response) {
      if (application !== undefined) {
        application(request, response);
        return;
      }
      // Why is in the log once, as the store's change of state: not again with every request.
      const { notes } = observedRequest(request);
      notes.operation = 'unmatched';
      notes.code = ERROR_CODE;
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
    async ready() {
      if (application === undefined) {
        throw new Error('The application is not built yet.');
      }
    },
    close() {
      closed = true;
    },
  };
}
