import type { Tracer } from '@gatehouse/server';
import type { DatabaseObserver } from './observe-queries.ts';

/** Adds a span for each statement to the trace of its request. */
export function traceStatements(
  observer: DatabaseObserver,
  tracer: Tracer | undefined,
): DatabaseObserver {
  return tracer === undefined
    ? observer
    : {
        ...observer,
        queried(statement, seconds, failed) {
          observer.queried(statement, seconds, failed);
          tracer.step(`database ${statement}`, seconds, failed);
        },
      };
}
