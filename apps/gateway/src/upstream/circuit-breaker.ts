/**
 * Detects that a service with a health path has stopped, so that callers get an error at once and
 * not after their deadline. A refused connection fails within a second without a breaker. The kernel
 * still accepts connections for a process that is frozen, so only silence shows that state.
 *
 *   a request waits and no byte arrives for 1.5 s → request the health path
 *                                 → no answer within 2.5 s → open
 *   while open: request the path every half second, the first answer closes the circuit
 *
 * A slow service keeps answering its health path, so long requests do not open the circuit.
 */
import { ApiError, serviceUnavailable } from '@gatehouse/errors';

export type CircuitState = 'closed' | 'open';

/**
 * Why a request was rejected at once. Its log line has no stack: `upstream circuit open` reports
 * the cause once for all of them.
 */
export class CircuitOpenError extends Error {
  override name = 'CircuitOpenError';
}

const STOPPED = 'The service has stopped answering.';
const CHECK_MILLISECONDS = 500;
const QUIET_CHECKS = 3;

export function createCircuitBreaker(dependencies: {
  /** Asks the health path. Undefined if the service has none: the circuit stays closed. */
  readonly isHealthy: (() => Promise<boolean>) | undefined;
  /** The requests that wait for the head of their reply. */
  readonly waiting: () => readonly { cancel(error: Error): void }[];
  readonly onChange: (state: CircuitState) => void;
}) {
  const { isHealthy, waiting, onChange } = dependencies;
  let state: CircuitState = 'closed';
  /** A byte arrived since the last check. */
  let isActive = false;
  let isAsking = false;
  let quietChecks = 0;

  function change(next: CircuitState): void {
    if (state !== next) {
      state = next;
      onChange(next);
    }
  }

  async function check(ask: () => Promise<boolean>): Promise<void> {
    if (isAsking) {
      return;
    }
    quietChecks = isActive || waiting().length === 0 ? 0 : quietChecks + 1;
    isActive = false;
    if (state === 'closed' && quietChecks < QUIET_CHECKS) {
      return;
    }
    isAsking = true;
    const answered = await ask();
    isAsking = false;
    quietChecks = 0;
    if (answered || isActive) {
      change('closed');
    } else if (state === 'closed') {
      change('open');
      for (const call of waiting()) {
        const cause = new Error(STOPPED);
        call.cancel(new ApiError('timeout', { cause, reason: 'upstream_stopped' }));
      }
    }
  }

  const timer = isHealthy && setInterval(() => void check(isHealthy), CHECK_MILLISECONDS).unref();
  return {
    get state() {
      return state;
    },
    /** @throws ApiError `service_unavailable` while the circuit is open */
    assertClosed(): void {
      if (state === 'open') {
        throw serviceUnavailable(new CircuitOpenError(STOPPED), 'upstream_stopped');
      }
    },
    /** Called when the service sends data. */
    noteActivity(): void {
      isActive = true;
      if (state === 'open') {
        change('closed');
      }
    },
    close: () => clearInterval(timer),
  };
}
