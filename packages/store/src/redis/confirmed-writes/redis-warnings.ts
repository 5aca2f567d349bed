import type { ReplicationReport } from './redis-required-replicas.ts';

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
