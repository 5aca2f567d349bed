import { setTimeout as sleep } from 'node:timers/promises';
import { camera, type DeviceClient } from './device-client.ts';

/** Creates devices continuously over several connections, and records the results. */
export interface WriteLoad {
  readonly acknowledged: readonly string[];
  /** The creates that were not acknowledged, as `status, code, Retry-After`. */
  readonly refusals: ReadonlySet<string>;
  /** The duration of the slowest call. */
  readonly slowestMilliseconds: () => number;
  /** Resolves after this number of further acknowledged writes. */
  untilMore(writes: number): Promise<void>;
  stop(): Promise<void>;
}

const WRITERS = 8;

export function startWriteLoad(client: DeviceClient): WriteLoad {
  const acknowledged: string[] = [];
  const refusals = new Set<string>();
  let slowest = 0;
  let isStopped = false;
  const writers = Array.from({ length: WRITERS }, async (_, writer) => {
    for (let i = 0; !isStopped; i += 1) {
      const id = `w${writer}-${i}`;
      const startedAt = performance.now();
      const { status, body, headers } = await client.create({ id, ...camera });
      slowest = Math.max(slowest, performance.now() - startedAt);
      if (status === 200) {
        acknowledged.push(id);
      } else {
        refusals.add(`${status}, ${body.code}, ${headers['retry-after']}`);
        await sleep(10);
      }
    }
  });
  return {
    acknowledged,
    refusals,
    slowestMilliseconds: () => slowest,
    async untilMore(writes) {
      const target = acknowledged.length + writes;
      const deadline = performance.now() + 30_000;
      while (acknowledged.length < target) {
        if (performance.now() > deadline) {
          throw new Error(`The service acknowledges no writes: ${[...refusals].join('; ')}`);
        }
        await sleep(5);
      }
    },
    async stop() {
      isStopped = true;
      await Promise.all(writers);
    },
  };
}
