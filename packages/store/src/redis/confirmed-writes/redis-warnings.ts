import type { ReplicationReport } from './redis-required-replicas.ts';

/**
 * What an operator should set on a Redis that works, so that it keeps what it acknowledges. INFO tells it to users who
 * may not read the configuration.
 *
 * @param persistence the reply to `INFO persistence`
 */
export function durabilityWarnings(
  { inStep, refusesWithoutReplicas }: ReplicationReport,
  persistence: string,
): readonly string[] {
  return [
    ...(/^aof_enabled:0/m.test(persistence)
      ? ['Redis has no append-only file: a restart loses revocations. Set appendonly yes.']
      : []),
    ...(inStep.length > 0 && !refusesWithoutReplicas
      ? [
          'Redis accepts writes without its replicas: a failover may lose revocations. ' +
            'Set min-replicas-to-write 1 and min-replicas-max-lag 10.',
        ]
      : []),
  ];
}
