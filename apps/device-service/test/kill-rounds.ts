import { setTimeout as sleep } from 'node:timers/promises';
import { createDeviceClient, type DeviceClient } from './device-client.ts';
import type { GatewayDouble } from './gateway-double.ts';
import { startServiceProcess } from './service-process.ts';

export interface KillRoundsOptions {
  readonly environment: Readonly<Record<string, string>>;
  readonly gateway: GatewayDouble;
  readonly rounds: number;
  /** The number of acknowledged creates in all rounds. */
  readonly creates: number;
  readonly organization: string;
}

const WRITERS = 8;

/**
 * Creates devices over many connections while it repeatedly kills the service with SIGKILL.
 *
 * @returns the ids that the service acknowledged
 */
export async function createUnderKills(options: KillRoundsOptions): Promise<readonly string[]> {
  const { environment, gateway, rounds, creates, organization } = options;
  const acknowledged: string[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const service = await startServiceProcess(environment);
    const client = createDeviceClient({ url: service.url, gateway });
    const target = Math.ceil((creates * (round + 1)) / rounds);
    let killed = false;
    const writers = Array.from({ length: WRITERS }, async (_, writer) => {
      for (let i = 0; !killed; i += 1) {
        const id = `r${round}-w${writer}-${i}`;
        // An interrupted call was not acknowledged.
        const reply = await client
          .create({ id, name: id, productId: 'p', productName: 'P' }, organization)
          .catch(() => undefined);
        if (reply?.status === 200) {
          acknowledged.push(id);
        }
      }
    });
    while (acknowledged.length < target) {
      await sleep(1);
    }
    await service.end('SIGKILL');
    killed = true;
    await Promise.all(writers);
  }
  return acknowledged;
}

/** The ids and the total that a new process returns. */
export async function readAll(
  client: DeviceClient,
  organization: string,
): Promise<{ readonly ids: ReadonlySet<string>; readonly total: number }> {
  const ids = new Set<string>();
  for (let pageIndex = 0; ; pageIndex += 1) {
    const reply = await client.list(`?pageSize=1000&pageIndex=${pageIndex}`, organization);
    for (const { id } of reply.body.result) {
      ids.add(id);
    }
    if (reply.body.result.length < 1000) {
      return { ids, total: Number(reply.headers['x-total-count']) };
    }
  }
}
