/**
 * Detects that a service has stopped, so that callers get an error at once and not after their
 * deadline. A refused connection fails within a second without a breaker. The kernel still accepts
 * connections for a process that is frozen, so only silence shows that state.
 *
 *   with a health path: a request waits and no byte arrives for 1.5 s → request the path
 *                       → no answer within 2.5 s → open
 *     while open:       request the path every second, the first answer closes the circuit
 *   without:            5 completely sent requests reach their deadline, and no byte arrived since
 *                       the first of them was sent → open
 *     while open:       one request per second passes (half-open), its answer closes the circuit
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
  constructor() {
    super('The service has stopped answering.');
    this.name = 'CircuitOpenError';
  }
}

/** A request to the service. */
export interface WatchedCall {
  /** The caller has not sent all of the body yet, so the service cannot answer. */
  readonly isUploading: boolean;
  /** How often the service had sent data when the call began. Set by CircuitBreaker. */
  activityBefore: number;
}

interface CircuitDependencies {
  /** Asks the health path. Undefined if the service has none. */
  readonly isHealthy: (() => Promise<boolean>) | undefined;
  /** The requests that wait for the head of their reply. */
  readonly waiting: () => readonly { cancel(error: Error): void }[];
  readonly onChange: (state: CircuitState) => void;
}

const CHECK_MILLISECONDS = 500;
const QUIET_CHECKS = 3;
const TRIAL_CHECKS = 2;
const TIMEOUTS_IN_A_ROW = 5;

const stopped = () =>
  new ApiError('timeout', {
    cause: new Error('The service has stopped answering.'),
    reason: 'upstream_stopped',
  });

export class CircuitBreaker {
  readonly #dependencies: CircuitDependencies;
  readonly #timer: NodeJS.Timeout;
  #state: CircuitState = 'closed';
  /** A byte arrived since the last check. */
  #isActive = false;
  #isAsking = false;
  #quietChecks = 0;
  #checksUntilTrial = 0;
  #trial: WatchedCall | undefined;
  #activityCount = 0;
  #timeouts = 0;

  constructor(dependencies: CircuitDependencies) {
    this.#dependencies = dependencies;
    this.#timer = setInterval(() => this.#check(), CHECK_MILLISECONDS).unref();
  }

  get state(): CircuitState {
    return this.#state;
  }

  /** @throws ApiError `service_unavailable` while the circuit is open */
  assertClosed(): void {
    if (this.#state === 'closed') {
      return;
    }
    // A caller that stalls its upload must not keep the trial from the others.
    const isTrialFree = this.#checksUntilTrial === 0 || this.#trial?.isUploading === true;
    if (this.#dependencies.isHealthy !== undefined || !isTrialFree) {
      throw serviceUnavailable(new CircuitOpenError(), 'upstream_stopped');
    }
  }

  /** Registers a request to the service. While the circuit is open, it is the trial. */
  begin(call: WatchedCall): void {
    call.activityBefore = this.#activityCount;
    if (this.#state === 'open') {
      this.#trial = call;
      this.#checksUntilTrial = TRIAL_CHECKS;
    }
  }

  /** Called when the service sends data. */
  noteActivity(): void {
    this.#isActive = true;
    this.#activityCount += 1;
    this.#timeouts = 0;
    if (this.#state === 'open') {
      this.#change('closed');
    }
  }

  /** Called when a completely sent request reaches its deadline without a byte of a reply. */
  timedOut(call: WatchedCall): void {
    if (this.#state === 'open' || call.activityBefore !== this.#activityCount) {
      return;
    }
    this.#timeouts += 1;
    if (this.#timeouts >= TIMEOUTS_IN_A_ROW && this.#dependencies.isHealthy === undefined) {
      this.#open();
    }
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #check(): void {
    const { isHealthy, waiting } = this.#dependencies;
    if (this.#isAsking) {
      return;
    }
    this.#checksUntilTrial = Math.max(0, this.#checksUntilTrial - 1);
    this.#quietChecks = !this.#isActive && waiting().length > 0 ? this.#quietChecks + 1 : 0;
    this.#isActive = false;
    const isDue =
      this.#state === 'open' ? this.#checksUntilTrial === 0 : this.#quietChecks >= QUIET_CHECKS;
    if (isDue && isHealthy !== undefined) {
      void this.#ask(isHealthy);
    }
  }

  async #ask(probe: () => Promise<boolean>): Promise<void> {
    this.#isAsking = true;
    const isHealthy = await probe();
    this.#isAsking = false;
    this.#quietChecks = 0;
    if (isHealthy) {
      this.noteActivity();
    } else if (!this.#isActive) {
      this.#open();
    }
  }

  #open(): void {
    this.#checksUntilTrial = TRIAL_CHECKS;
    if (this.#state === 'closed') {
      this.#change('open');
      for (const call of this.#dependencies.waiting()) {
        call.cancel(stopped());
      }
    }
  }

  #change(state: CircuitState): void {
    this.#state = state;
    this.#timeouts = 0;
    this.#trial = undefined;
    this.#dependencies.onChange(state);
  }
}
