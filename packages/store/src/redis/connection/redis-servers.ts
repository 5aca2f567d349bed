import type { StoreServer } from '../../port/store.ts';
import { mastersOf, type RedisClient } from './redis-client.ts';

/** Version and clock of every master. */
export function readServers(client: RedisClient): Promise<readonly StoreServer[]> {
  return Promise.all(
    mastersOf(client).map(async (master) => {
      const report = await master.info('server');
      const microseconds = Number(/^server_time_usec:(\d+)/m.exec(report)?.[1]);
      return {
        version: /^redis_version:(\S+)/m.exec(report)?.[1] ?? 'unknown',
        time: Math.round(microseconds / 1000),
      };
    }),
  );
}
