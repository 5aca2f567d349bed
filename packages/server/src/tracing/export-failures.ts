import type { Logger } from '../logging/logger.ts';

const ONCE_IN_MILLISECONDS = 60_000;

/** Logs that spans cannot be exported, at most once a minute. A reply of the receiver is not logged. */
export function createExportFailureLog(
  logger: Pick<Logger, 'warn'>,
  now: () => number = Date.now,
): (error: unknown) => void {
  let last = Number.NEGATIVE_INFINITY;
  return (error) => {
    if (now() - last >= ONCE_IN_MILLISECONDS) {
      last = now();
      const { code } = (error ?? {}) as { readonly code?: unknown };
      logger.warn({ failure: typeof code === 'object' ? undefined : code }, 'traces not exported');
    }
  };
}
