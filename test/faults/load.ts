import { setTimeout as sleep } from 'node:timers/promises';
import { until } from '@gatehouse/testing';
import { callWithout, type Ledger } from './ledger.ts';
import { isSuccess, memberOf, type Reply, type Requests } from './requests.ts';
import type { Tier } from './tier.ts';

const PAUSE_MILLISECONDS = 100;
/** This many consecutive successes show that requests of a kind work again, for every key. */
const STREAK = 10;

interface Observation {
  /** Replies to requests with valid credentials, other than success and 503. */
  readonly unexpected: readonly string[];
  /** Successful requests without a valid credential. */
  readonly undeserved: number;
  readonly unavailable: number;
  readonly withoutRetryAfter: number;
  /** The p99 of 503 replies, in milliseconds. */
  readonly p99: number;
  /** From the fault until requests of every kind worked again. */
  readonly outageMilliseconds: number;
}

/**
 * Continuously sends ten requests per second of each kind, with valid and with ended credentials.
 */
export class Load {
  readonly #live: (Reply & { readonly kind: string })[] = [];
  #undeserved = 0;
  #isRunning = true;
  #faultAt = Number.POSITIVE_INFINITY;
  readonly #workers: Promise<void>[];

  private constructor(tier: Tier, requests: Requests, ledger: Ledger, token: string) {
    const live = {
      'bearer call': () => requests.call(token),
      'signed call': () => requests.signedCall(0),
      'token request': () => requests.machineToken(1),
    };
    const dead = {
      'revoked token': () => requests.call(ledger.revokedToken() ?? 'never-issued'),
      'unknown token': () => requests.call('never-issued'),
      'no credential': () => callWithout(tier),
    };
    this.#workers = [
      ...Object.entries(live).map(([kind, ask]) =>
        this.#repeat(async () => {
          this.#live.push({ ...(await ask()), kind });
        }),
      ),
      ...Object.values(dead).map((ask) =>
        this.#repeat(async () => {
          this.#undeserved += isSuccess(await ask()) ? 1 : 0;
        }),
      ),
    ];
  }

  static async start(tier: Tier, requests: Requests, ledger: Ledger): Promise<Load> {
    let token = '';
    // The tier may have just started or been repaired.
    await until(async () => {
      token = memberOf(await requests.machineToken(2), 'access_token');
    });
    return new Load(tier, requests, ledger, token);
  }

  /** The p99 of successful requests before the fault, which shows the load of the machine. */
  get healthyP99(): number {
    return percentile99(
      this.#live.filter((reply) => isSuccess(reply) && reply.sentAt < this.#faultAt),
    );
  }

  fault(): void {
    this.#faultAt = performance.now();
  }

  /** Waits until every kind of request works again. */
  async recovered(deadlineMilliseconds = 60_000): Promise<void> {
    const deadline = performance.now() + deadlineMilliseconds;
    const earliest = performance.now() + 1500;
    while (performance.now() < earliest || this.#outage() === undefined) {
      if (performance.now() > deadline) {
        const recent = this.#live.slice(-30).map(({ kind, status }) => `${kind} ${status}`);
        throw new Error(`The tier did not recover: ${recent.join(', ')}`);
      }
      await sleep(50);
    }
  }

  async stop(): Promise<Observation> {
    this.#isRunning = false;
    await Promise.all(this.#workers);
    const failed = this.#live.filter((reply) => !isSuccess(reply));
    const unavailable = failed.filter(
      ({ status, sentAt }) => status === 503 && sentAt > this.#faultAt,
    );
    return {
      unexpected: failed
        .filter(({ status }) => status !== 503)
        .map(({ kind, status, body }) => `${kind}: ${status} ${body.slice(0, 200)}`),
      undeserved: this.#undeserved,
      unavailable: unavailable.length,
      withoutRetryAfter: unavailable.filter(({ hasRetryAfter }) => !hasRetryAfter).length,
      p99: percentile99(unavailable),
      outageMilliseconds: this.#outage() ?? Number.POSITIVE_INFINITY,
    };
  }

  /** Undefined while a kind of request does not work. */
  #outage(): number | undefined {
    const ends = ['bearer call', 'signed call', 'token request'].map((kind) => {
      const replies = this.#live
        .filter((reply) => reply.kind === kind && reply.sentAt > this.#faultAt)
        .sort((one, other) => one.sentAt - other.sentAt);
      const failedFirst = replies.findIndex((reply) => !isSuccess(reply));
      const works = replies.findIndex(
        (_reply, index) =>
          index > failedFirst &&
          replies.length >= index + STREAK &&
          replies.slice(index, index + STREAK).every(isSuccess),
      );
      if (works === -1) {
        return undefined;
      }
      const { sentAt = 0, milliseconds = 0 } = replies[works] ?? {};
      return failedFirst === -1 ? 0 : sentAt + milliseconds - this.#faultAt;
    });
    return ends.includes(undefined) ? undefined : Math.max(...ends.map(Number));
  }

  async #repeat(ask: () => Promise<void>): Promise<void> {
    const running = new Set<Promise<void>>();
    while (this.#isRunning) {
      const asked = ask().finally(() => running.delete(asked));
      running.add(asked);
      await sleep(PAUSE_MILLISECONDS);
    }
    await Promise.all(running);
  }
}

function percentile99(replies: readonly Reply[]): number {
  const durations = replies
    .map(({ milliseconds }) => milliseconds)
    .sort((one, other) => one - other);
  return durations[Math.floor(durations.length * 0.99)] ?? 0;
}
