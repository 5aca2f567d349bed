/** A replica reports its progress every second. One that is silent for longer is not in step. */
const LONGEST_LAG_SECONDS = 2;

/**
 * How long a replica that left still has to acknowledge. Redis cannot tell a replica that died from one that was just
 * promoted: the old master would go on acknowledging what the new one never gets. A failover is over by then.
 */
export const REPLICA_HOLD_MILLISECONDS = 5000;

/** What `INFO replication` says of one server. */
export interface ReplicationReport {
  /** Names the server's data set: another one after a failover, and after a restart without a saved one. */
  readonly history: string;
  /** Addresses of the replicas that receive writes and confirm them. */
  readonly inStep: readonly string[];
  /** Whether the server has both `min-replicas-to-write` and `min-replicas-max-lag`. */
  readonly refusesWithoutReplicas: boolean;
}

export function parseReplication(information: string): ReplicationReport {
  const replicas = information.matchAll(/^slave\d+:(.*)$/gm);
  return {
    history: /^master_replid:(\S+)/m.exec(information)?.[1] ?? '',
    inStep: Array.from(replicas, ([, words = '']) => parseReplica(words)).filter(
      (address) => address !== undefined,
    ),
    refusesWithoutReplicas: /^min_slaves_good_slaves:/m.test(information),
  };
}

function parseReplica(words: string): string | undefined {
  const { ip, port, state, offset, lag } = Object.fromEntries(
    words
      .trim()
      .split(',')
      .map((word) => word.split('=', 2)),
  ) as Record<string, string | undefined>;
  // Online before it has loaded the data set: without an acknowledgement its offset is 0.
  const hasAcknowledged = state === 'online' && Number(offset) > 0 && Number(lag) >= 0;
  return hasAcknowledged && Number(lag) <= LONGEST_LAG_SECONDS ? `${ip}:${port}` : undefined;
}

/**
 * How many replicas of one data set have to acknowledge a write: every one that is in step, or was within the hold. A
 * data set that ever had a replica needs at least one for as long as this process runs: none is what a master sees
 * that is cut off. One that never had any needs none.
 */
export class RequiredReplicas {
  readonly #lastInStep = new Map<string, number>();
  #hadReplicas = false;

  learn(report: ReplicationReport, now: number): void {
    for (const address of report.inStep) {
      this.#hadReplicas = true;
      this.#lastInStep.set(address, now);
    }
    for (const [address, lastInStep] of this.#lastInStep) {
      if (now - lastInStep > REPLICA_HOLD_MILLISECONDS) {
        this.#lastInStep.delete(address);
      }
    }
  }

  get count(): number {
    return this.#hadReplicas ? Math.max(1, this.#lastInStep.size) : 0;
  }
}
