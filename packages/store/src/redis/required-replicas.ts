/**
 * A replica reports its progress every second. A replica that lags further behind is not in sync.
 */
const MAXIMUM_LAG_SECONDS = 2;

/**
 * How long a replica that has disconnected must still acknowledge writes. The master cannot
 * distinguish a replica that died from one that was just promoted. Without this hold, the old
 * master would acknowledge writes that the new master never receives. A failover ends within this
 * time.
 */
export const REPLICA_HOLD_MILLISECONDS = 5000;

type ReplicationReport = ReturnType<typeof parseReplication>;

/** The reply of one server to `INFO replication`. */
export function parseReplication(information: string) {
  const lines = information.matchAll(/^slave\d+:(.*)$/gm);
  const replicas = Array.from(lines, ([, words = '']) => parseReplica(words)).filter(
    ({ hasAcknowledged }) => hasAcknowledged,
  );
  return {
    /**
     * The replication id of the server's data set. It changes after a failover, and after a restart
     * without a saved data set.
     */
    history: /^master_replid:(\S+)/m.exec(information)?.[1] ?? '',
    /** Whether the server lists a replica that has ever acknowledged a write, in sync or not. */
    hasReplicas: replicas.length > 0,
    /** The addresses of the replicas that acknowledged writes recently. */
    inSync: replicas.filter(({ isInSync }) => isInSync).map(({ address }) => address),
    /** Whether the server has both `min-replicas-to-write` and `min-replicas-max-lag`. */
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
    // A replica is online before it has loaded the data set. Its offset is 0 until it acknowledges.
    hasAcknowledged: state === 'online' && Number(offset) > 0 && Number(lag) >= 0,
    isInSync: Number(lag) <= MAXIMUM_LAG_SECONDS,
  };
}

/**
 * The number of replicas of one data set that must acknowledge a write: those that are in sync, or
 * were in sync within the hold. If the data set has or had a replica, or its server requires one,
 * the number is at least one: a partitioned master sees only silent replicas, and a process that
 * has just started knows no others. A data set that never had a replica needs no acknowledgment.
 */
export class RequiredReplicas {
  readonly #lastInSync = new Map<string, number>();
  #hadReplicas = false;
  #isRequired = false;

  learn(report: ReplicationReport, now: number): void {
    this.#hadReplicas ||= report.hasReplicas;
    this.#isRequired = report.refusesWithoutReplicas;
    for (const address of report.inSync) {
      this.#lastInSync.set(address, now);
    }
    for (const [address, lastInSync] of this.#lastInSync) {
      if (now - lastInSync > REPLICA_HOLD_MILLISECONDS) {
        this.#lastInSync.delete(address);
      }
    }
  }

  get count(): number {
    return this.#hadReplicas || this.#isRequired ? Math.max(1, this.#lastInSync.size) : 0;
  }
}

/**
 * Warnings about settings with which a working Redis may lose acknowledged writes. They come from
 * INFO, because the store's Redis user may not read the configuration.
 *
 * @param persistence the reply to `INFO persistence`
 */
export function durabilityWarnings(
  { inSync, refusesWithoutReplicas }: ReplicationReport,
  persistence: string,
): readonly string[] {
  return [
    ...(/^aof_enabled:0/m.test(persistence)
      ? ['Redis has no append-only file: a restart loses revocations. Set appendonly yes.']
      : []),
    ...(inSync.length > 0 && !refusesWithoutReplicas
      ? [
          'Redis accepts writes without its replicas: a failover may lose revocations. ' +
            'Set min-replicas-to-write 1 and min-replicas-max-lag 10.',
        ]
      : []),
  ];
}
