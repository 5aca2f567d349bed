/** A replica reports its progress every second. One that is silent for longer is not in step. */
const LONGEST_LAG_SECONDS = 2;

/**
 * How long a replica that left still has to acknowledge. Redis cannot tell a replica that died from one that was just
 * promoted: the old master would go on acknowledging what the new one never gets. A failover is over by then.
 */
export const REPLICA_HOLD_MILLISECONDS = 5000;

/** The reply of one server to `INFO replication`. */
export interface ReplicationReport {
  /** Names the server's data set: another one after a failover, and after a restart without a saved one. */
  readonly history: string;
  /** Whether it lists a replica that has ever acknowledged a write, in step or not. */
  readonly hasReplicas: boolean;
  /** Addresses of the replicas that receive writes and confirm them. */
  readonly inStep: readonly string[];
  /** Whether the server has both `min-replicas-to-write` and `min-replicas-max-lag`. */
  readonly refusesWithoutReplicas: boolean;
}

export function parseReplication(information: string): ReplicationReport {
  const lines = information.matchAll(/^slave\d+:(.*)$/gm);
  const replicas = Array.from(lines, ([, words = '']) => parseReplica(words)).filter(
    ({ hasAcknowledged }) => hasAcknowledged,
  );
  return {
    history: /^master_replid:(\S+)/m.exec(information)?.[1] ?? '',
    hasReplicas: replicas.length > 0,
    inStep: replicas.filter(({ isInStep }) => isInStep).map(({ address }) => address),
    refusesWithoutReplicas: /^min_slaves_good_slaves:/m.test(information),
  };
}

function parseReplica(words: string) {
  const { ip, port, state, offset, lag } = Object.fromEntries(
    words
      .trim()
      .split(',')
      .map((word) => word.split('=', 2)),
  ) as Record<string, string | undefined>;
  return {
    address: `${ip}:${port}`,
    // Online before it has loaded the data set: without an acknowledgement its offset is 0.
    hasAcknowledged: state === 'online' && Number(offset) > 0 && Number(lag) >= 0,
    isInStep: Number(lag) <= LONGEST_LAG_SECONDS,
  };
}

/**
 * How many replicas of one data set have to acknowledge a write: every one that is in step, or was within the hold. A
 * data set that has or had a replica, or whose server demands one, needs at least one: a partitioned master sees only
 * silent replicas, also in a process that has just started. A data set that never had any needs none.
 */
export class RequiredReplicas {
  readonly #lastInStep = new Map<string, number>();
  #hadReplicas = false;
  #isDemanded = false;

  learn(report: ReplicationReport, now: number): void {
    this.#hadReplicas ||= report.hasReplicas;
    this.#isDemanded = report.refusesWithoutReplicas;
    for (const address of report.inStep) {
      this.#lastInStep.set(address, now);
    }
    for (const [address, lastInStep] of this.#lastInStep) {
      if (now - lastInStep > REPLICA_HOLD_MILLISECONDS) {
        this.#lastInStep.delete(address);
      }
    }
  }

  get count(): number {
    return this.#hadReplicas || this.#isDemanded ? Math.max(1, this.#lastInStep.size) : 0;
  }
}
