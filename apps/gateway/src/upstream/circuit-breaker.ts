/**
 * Notices that a service has stopped, so that callers learn it at once and not each at its own deadline. A
 * refused connection needs no breaker: it fails within a second. Silence does: the kernel still accepts
 * connections for a process that has stopped.
 *
 *   with a health path    a request waits and no byte comes for 1.5 s → ask for the path → no answer in 2.5 s → open
 *                         while open: ask every second, the first answer closes
 *   without               5 requests that were sent completely meet their deadline, and no byte came since
 *                         the first of them was sent → open
 *                         while open: one request a second goes through (half-open), its answer closes
 *
 * A slow service keeps answering its health path, so long requests do not open the circuit.
 */
import { ApiError, serviceUnavailable } from '@gatehouse/api-envelope';
import { CircuitOpenError } from './circuit-open-error.ts';
import type { HealthProbe } from './health-probe.ts';

export type CircuitState = 'closed' | 'open';

/** A request to the service. */
export interface WatchedCall {
  /** The caller has not sent all of the body yet, so the service cannot answer. */
  readonly isUploading: boolean;
  /** How often the service had sent something when the call began. Set by CircuitBreaker. */
  heardBefore: number;
}

export interface CircuitDependencies {
  readonly health: HealthProbe | undefined;
  /** Whether a request waits for the head of its reply. */
  readonly isWaiting: () => boolean;
  /** Ends the requests that wait: nothing will come for them. */
  readonly endWaiting: (reason: () => Error) => void;
  readonly onChange: (state: CircuitState) => void;
}

const LOOK_MILLISECONDS = 500;
const QUIET_LOOKS = 3;
const TRIAL_LOOKS = 2;
const TIMEOUTS_IN_A_ROW = 5;

const stopped = () =>
  new ApiError('timeout', { cause: new Error('The service has stopped answering.') });

export class CircuitBreaker {
  readonly #dependencies: CircuitDependencies;
  readonly #timer: NodeJS.Timeout;
  #state: CircuitState = 'closed';
  /** A byte came since the last look. */
  #isHeard = false;
  #isAsking = false;
  #quietLooks = 0;
  #looksUntilTrial = 0;
  #trial: WatchedCall | undefined;
  #heardCount = 0;
  #timeouts = 0;

  constructor(dependencies: CircuitDependencies) {
    this.#dependencies = dependencies;
    this.#timer = setInterval(() => this.#look(), LOOK_MILLISECONDS).unref();
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
    const isTrialFree = this.#looksUntilTrial === 0 || this.#trial?.isUploading === true;
    if (this.#dependencies.health !== undefined || !isTrialFree) {
      throw serviceUnavailable(new CircuitOpenError());
    }
  }

  /** A request goes to the service. While the circuit is open, it is the trial. */
  begin(call: WatchedCall): void {
    call.heardBefore = this.#heardCount;
    if (this.#state === 'open') {
      this.#trial = call;
      this.#looksUntilTrial = TRIAL_LOOKS;
    }
  }

  /** The service sent something. */
  heard(): void {
    this.#isHeard = true;
    this.#heardCount += 1;
    this.#timeouts = 0;
    if (this.#state === 'open') {
      this.#change('closed');
    }
  }

  /** A request that was sent completely met its deadline without a byte of a reply. */
  timedOut(call: WatchedCall): void {
    if (this.#state === 'open' || call.heardBefore !== this.#heardCount) {
      return;
    }
    this.#timeouts += 1;
    if (this.#timeouts >= TIMEOUTS_IN_A_ROW && this.#dependencies.health === undefined) {
      this.#open();
    }
  }

  close(): void {
    clearInterval(this.#timer);
    this.#dependencies.health?.close();
  }

  #look(): void {
    const { health, isWaiting } = this.#dependencies;
    if (this.#isAsking) {
      return;
    }
    this.#looksUntilTrial = Math.max(0, this.#looksUntilTrial - 1);
    this.#quietLooks = !this.#isHeard && isWaiting() ? this.#quietLooks + 1 : 0;
    this.#isHeard = false;
    const isDue =
      this.#state === 'open' ? this.#looksUntilTrial === 0 : this.#quietLooks >= QUIET_LOOKS;
    if (isDue && health !== undefined) {
      void this.#ask(health);
    }
  }

  async #ask(health: HealthProbe): Promise<void> {
    this.#isAsking = true;
    const isHealthy = await health.ask();
    this.#isAsking = false;
    this.#quietLooks = 0;
    if (isHealthy) {
      this.heard();
    } else if (!this.#isHeard) {
      this.#open();
    }
  }

  #open(): void {
    this.#looksUntilTrial = TRIAL_LOOKS;
    if (this.#state === 'closed') {
      this.#change('open');
      this.#dependencies.endWaiting(stopped);
    }
  }

  #change(state: CircuitState): void {
    this.#state = state;
    this.#timeouts = 0;
    this.#trial = undefined;
    this.#dependencies.onChange(state);
  }
}
