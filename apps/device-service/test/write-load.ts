import { setTimeout as sleep } from 'node:timers/promises';
import { camera, type DeviceClient } from './device-client.ts';

/** Creates without a pause, over several connections, and what became of it. */
export interface WriteLoad {
  readonly acknowledged: readonly string[];
  /** Everything that was not acknowledged, as `status, code, Retry-After`. */
  readonly refusals: ReadonlySet<string>;
  /** The longest that a call took. */
  readonly slowestMilliseconds: () => number;
  /** Resolves when this many more writes have been acknowledged. */
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
          throw new Error(`Writes do not go on: ${[...refusals].join('; ')}`);
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
