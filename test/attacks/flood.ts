import { setTimeout as sleep } from 'node:timers/promises';

/** One request of an attack. The number makes each request different. */
export type Attack = (sequence: number) => { readonly url: string } & RequestInit;

export interface FloodResult {
  /** Replies by status, for each attack. */
  readonly statuses: ReadonlyMap<string, ReadonlyMap<number, number>>;
  readonly requests: number;
}

/**
 * Sends the attacks alternately over this many connections, each as soon as the last reply arrived.
 */
export async function flood(
  attacks: Readonly<Record<string, Attack>>,
  settings: { readonly connections: number; readonly seconds: number },
): Promise<FloodResult> {
  const names = Object.keys(attacks);
  const statuses = new Map(names.map((name) => [name, new Map<number, number>()]));
  const end = performance.now() + settings.seconds * 1000;
  let requests = 0;

  async function attackOnce(): Promise<void> {
    const sequence = requests;
    requests += 1;
    const name = names[sequence % names.length] ?? '';
    const attack = attacks[name];
    const counts = statuses.get(name);
    if (attack === undefined || counts === undefined) {
      return;
    }
    const { url, ...init } = attack(sequence);
    const reply = await fetch(url, { ...init, redirect: 'manual' }).catch(() => undefined);
    await reply?.arrayBuffer().catch(() => undefined);
    const status = reply?.status ?? 0;
    counts.set(status, (counts.get(status) ?? 0) + 1);
    // Prevents a busy loop if the server closes the connection.
    await sleep(status === 0 ? 10 : 0);
  }

  await Promise.all(
    Array.from({ length: settings.connections }, async () => {
      while (performance.now() < end) {
        await attackOnce();
      }
    }),
  );
  return { statuses, requests };
}
