import { type Cluster, Command, type Redis, ReplyError } from 'ioredis';

const slotOf = (key: string) => new Command('get', [key]).getSlot();
const addressOf = ({ options: { host, port } }: Redis) => `${host}:${port}`;

/** A cluster's reply that another server has the key. */
export interface Redirection {
  /** True for ASK: the slot is migrating, so the redirection applies to this command only. */
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
 * @throws Error if no connection to the key's master is known
 */
export function masterOf(cluster: Cluster, key: string): Redis {
  const address = cluster.slots[slotOf(key)]?.[0];
  return connectionTo(cluster, address) ?? fail();
}

/** Refreshes the slot cache, and waits for it if the server has only just joined the cluster. */
export async function redirectedMaster(cluster: Cluster, { address }: Redirection): Promise<Redis> {
  const known = connectionTo(cluster, address);
  const refreshed = new Promise<void>((resolve) => cluster.refreshSlotsCache(() => resolve()));
  if (known !== undefined) {
    return known;
  }
  await refreshed;
  return connectionTo(cluster, address) ?? fail();
}

/** Finds a key in one of the master's slots. */
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
