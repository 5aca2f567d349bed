import { Agent, get } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

/** Makes the headers of one call: a bearer token stays the same, a signature is new each time. */
export type Credential = () => Readonly<Record<string, string>>;

/** How long a gateway accepted a credential, in milliseconds. */
export interface RefusalSample {
  /**
   * From the acknowledgment of the revocation to the first rejected call. 0 if a call was rejected
   * earlier.
   */
  readonly afterAcknowledgment: number;
  /** From the time at which the revocation was sent. */
  readonly afterStart: number;
}

interface Refusal {
  readonly at: number;
}

const POLL_MILLISECONDS = 2;
/**
 * After these calls, each gateway has a fresh copy of every record, which is the worst case for a
 * revocation.
 */
const WARMING_CALLS = 3;
const LONGEST_MILLISECONDS = 5000;
const CALLS_AFTER_REFUSAL = 4;
const TARGET = '/api/device?pageSize=1';
const QUESTION = { 'X-Original-Method': 'GET', 'X-Original-URI': TARGET };

export class RefusalMeter {
  readonly #agent = new Agent({ keepAlive: true });
  readonly #gatewayUrls: readonly string[];
  /** The durations of accepted calls. */
  readonly roundTrips: number[] = [];

  constructor(gatewayUrls: readonly string[]) {
    this.#gatewayUrls = gatewayUrls;
  }

  /**
   * Whether every gateway accepts it. After some revocations, new tokens are rejected for up to two
   * seconds.
   */
  async isAccepted(credential: Credential): Promise<boolean> {
    const statuses = await Promise.all(this.#gatewayUrls.map((url) => this.#call(url, credential)));
    return statuses.every((status) => status === 200);
  }

  /**
   * Calls every gateway with every credential during the revocation. Returns one sample for each
   * pair.
   */
  async measure(
    credentials: readonly Credential[],
    revoke: () => Promise<unknown>,
  ): Promise<readonly RefusalSample[]> {
    const pairs = this.#gatewayUrls.flatMap((url) => credentials.map((each) => ({ url, each })));
    let warm = 0;
    const refusals = pairs.map(({ url, each }) =>
      this.#untilRefused(url, each, () => {
        warm += 1;
      }),
    );
    const all = Promise.all(refusals);
    all.catch(() => undefined);
    while (warm < pairs.length) {
      await Promise.race([sleep(POLL_MILLISECONDS), all]);
    }
    const startedAt = performance.now();
    await revoke();
    const acknowledgedAt = performance.now();
    return (await all).map(({ at }) => ({
      afterAcknowledgment: Math.max(0, at - acknowledgedAt),
      afterStart: at - startedAt,
    }));
  }

  close(): void {
    this.#agent.destroy();
  }

  async #untilRefused(url: string, credential: Credential, onWarm: () => void): Promise<Refusal> {
    const deadline = performance.now() + LONGEST_MILLISECONDS;
    for (let calls = 1; performance.now() < deadline; calls += 1) {
      const sentAt = performance.now();
      // Every second call is forwarded by another proxy.
      const status = await this.#call(url, credential, calls % 2 === 0);
      const at = performance.now();
      if (status === 401) {
        await this.#assertStaysRefused(url, credential);
        return { at };
      }
      if (status !== 200) {
        throw new Error(`${url} replies ${status}.`);
      }
      this.roundTrips.push(at - sentAt);
      if (calls === WARMING_CALLS) {
        onWarm();
      }
      await sleep(POLL_MILLISECONDS);
    }
    throw new Error(`${url} still accepts a credential after ${LONGEST_MILLISECONDS} ms.`);
  }

  async #assertStaysRefused(url: string, credential: Credential): Promise<void> {
    for (let calls = 0; calls < CALLS_AFTER_REFUSAL; calls += 1) {
      const status = await this.#call(url, credential, calls % 2 === 0);
      if (status !== 401) {
        throw new Error(`${url} replies ${status} after it has rejected the credential.`);
      }
    }
  }

  /** @param isVerification asks about the call as another proxy that forwards it */
  #call(url: string, credential: Credential, isVerification = false): Promise<number> {
    const path = isVerification ? '/_verify' : TARGET;
    const headers = { ...credential(), ...(isVerification && QUESTION) };
    return new Promise((resolve, reject) => {
      get(`${url}${path}`, { agent: this.#agent, headers }, (reply) => {
        reply.resume().once('end', () => resolve(reply.statusCode ?? 0));
        reply.once('error', reject);
      }).once('error', reject);
    });
  }
}
