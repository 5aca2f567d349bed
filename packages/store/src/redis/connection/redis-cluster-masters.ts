import { type Cluster, Command, type Redis, ReplyError } from 'ioredis';

const slotOf = (key: string) => new Command('get', [key]).getSlot();
const addressOf = ({ options: { host, port } }: Redis) => `${host}:${port}`;

/** Which of its servers a cluster answers for a key. */
export interface Redirection {
  /** ASK: for this command only, because the slot is on its way there. */
  readonly asking: boolean;
  readonly address: string;
}

export function redirectionOf(error: unknown): Redirection | undefined {
  const [, word, address] =
    error instanceof ReplyError
      ? (/^(MOVED|ASK) \d+ (\S+)$/.exec((error as Error).message) ?? [])
      : [];
  return address === undefined ? undefined : { asking: word === 'ASK', address };
}

/**
 * @throws Error where no connection to the key's master is known
 */
export function masterOf(cluster: Cluster, key: string): Redis {
  const address = cluster.slots[slotOf(key)]?.[0];
  return connectionTo(cluster, address) ?? fail();
}

/** A server that has only just joined is known after another look at the cluster's slots. */
export async function redirectedMaster(cluster: Cluster, { address }: Redirection): Promise<Redis> {
  const known = connectionTo(cluster, address);
  const refreshed = new Promise<void>((resolve) => cluster.refreshSlotsCache(() => resolve()));
  if (known !== undefined) {
    return known;
  }
  await refreshed;
  return connectionTo(cluster, address) ?? fail();
}

/** A key of that server, whatever slots it has. */
export function someKeyOf(cluster: Cluster, master: Redis, prefix: string): string {
  for (let number = 0; number < 10_000; number += 1) {
    const key = `${prefix}${number}`;
    if (cluster.slots[slotOf(key)]?.[0] === addressOf(master)) {
      return key;
    }
  }
  return fail();
}

function connectionTo(cluster: Cluster, address: string | undefined): Redis | undefined {
  return cluster.nodes('master').find((master) => addressOf(master) === address);
}

function fail(): never {
  throw new Error('No connection to the master of this slot is known.');
}
