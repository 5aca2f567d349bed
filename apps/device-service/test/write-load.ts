import { setTimeout as sleep } from 'node:timers/promises';
import { until } from '@gatehouse/testing';
import { camera, type DeviceClient } from './device-client.ts';

const WRITERS = 8;

/** Creates devices continuously over several connections, and records the results. */
export function startWriteLoad(client: DeviceClient, prefix = 'w') {
  const acknowledged: string[] = [];
  /** The creates that were not acknowledged, as `status, code, Retry-After`. */
  const refusals = new Set<string>();
  let isStopped = false;
  const writers = Array.from({ length: WRITERS }, async (_, writer) => {
    for (let i = 0; !isStopped; i += 1) {
      const id = `${prefix}${writer}-${i}`;
      // A call that a kill interrupts is not acknowledged.
      const reply = await client.create({ id, ...camera }).catch(() => undefined);
      if (reply?.status === 200) {
        acknowledged.push(id);
      } else {
        refusals.add(`${reply?.status}, ${reply?.body.code}, ${reply?.headers['retry-after']}`);
        await sleep(10);
      }
    }
  });
  return {
    acknowledged,
    refusals,
    /** Resolves after this number of further acknowledged writes. */
    untilMore(writes: number): Promise<void> {
      const target = acknowledged.length + writes;
      return until(() => acknowledged.length >= target, 30);
    },
    async stop() {
      isStopped = true;
      await Promise.all(writers);
    },
  };
}

/** The ids and the total that the service returns. */
export async function readAll(client: DeviceClient) {
  const ids = new Set<string>();
  for (let pageIndex = 0; ; pageIndex += 1) {
    const { result, headers } = await client.list(`?pageSize=1000&pageIndex=${pageIndex}`);
    for (const { id } of result) {
      ids.add(id);
    }
    if (result.length < 1000) {
      return { ids, total: Number(headers['x-total-count']) };
    }
  }
}
