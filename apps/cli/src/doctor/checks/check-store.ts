import {
  type Store,
  StoreFullError,
  type StoreLocation,
  type StoreRoom,
  StoreUnavailableError,
} from '@gatehouse/store';
import { type Finding, finding } from '../finding.ts';
import { checkClock } from './check-clock.ts';
import { checkEngineVersion } from './check-versions.ts';

const NEARLY_FULL_SHARE = 0.8;
const PINGS = 15;
const SLOW_MILLISECONDS = 5;

/** Settings, space and latency of an open store. */
export async function checkStore(
  store: Pick<Store, 'ping'>,
  engine: StoreLocation['engine'],
): Promise<readonly Finding[]> {
  const durations: number[] = [];
  let room: StoreRoom | undefined;
  let servers: readonly Finding[] = [];
  try {
    for (let ping = 0; ping < PINGS; ping += 1) {
      const started = performance.now();
      room = await store.ping();
      durations.push(performance.now() - started);
    }
    servers = engine === 'sqlite' ? [] : await checkServers(store);
  } catch (error) {
    return [describeOutage(error)];
  }
  const median = durations.toSorted((a, b) => a - b)[Math.floor(PINGS / 2)] ?? 0;
  return [
    ...servers,
    ...(room === undefined ? [] : checkRoom(room, engine)),
    ...(median > SLOW_MILLISECONDS
      ? [finding('store_slow', `A write and a read take ${median.toFixed(1)} ms in the median.`)]
      : []),
  ];
}

async function checkServers(store: Pick<Store, 'ping'>): Promise<readonly Finding[]> {
  const startedAt = Date.now();
  const { servers } = await store.ping();
  const at = (startedAt + Date.now()) / 2;
  return servers.flatMap(({ version, time }) => [
    ...checkEngineVersion('Redis', version),
    ...checkClock('Redis', time, at),
  ]);
}

function checkRoom({ usedBytes, maximumBytes }: StoreRoom, engine: string): readonly Finding[] {
  if (maximumBytes === undefined) {
    return engine !== 'sqlite' ? [finding('store_without_limit', 'Redis has no maxmemory.')] : [];
  }
  const share = usedBytes / maximumBytes;
  return share >= NEARLY_FULL_SHARE
    ? [finding('store_nearly_full', `The store uses ${Math.floor(share * 100)} % of its space.`)]
    : [];
}

/** @throws the error if it is not an outage */
export function describeOutage(error: unknown): Finding {
  if (error instanceof StoreFullError) {
    return finding(
      'store_nearly_full',
      `The store accepts no writes. ${error.reason ?? ''}`.trim(),
    );
  }
  if (error instanceof StoreUnavailableError) {
    return finding('store_unavailable', error.reason ?? 'The store does not answer.');
  }
  throw error;
}
