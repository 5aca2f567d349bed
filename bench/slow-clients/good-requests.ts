import { setTimeout as sleep } from 'node:timers/promises';

/** High enough that the slowest percent contains many requests. */
const REQUESTS_PER_SECOND = 300;

export interface Latency {
  /** Milliseconds. */
  readonly p50: number;
  readonly p99: number;
  /** Requests without a 2xx reply. They count as slower than all others. */
  readonly failed: number;
}

/**
 * Sends requests at a constant rate without waiting for earlier replies, as independent callers do.
 * If a server hangs, every request of that time shows it.
 */
export async function measureGoodRequests(
  good: { readonly url: string; readonly init: RequestInit },
  seconds: number,
): Promise<Latency> {
  const started = performance.now();
  const replies: Promise<number>[] = [];
  for (let count = 0; count < seconds * REQUESTS_PER_SECOND; count += 1) {
    const due = started + (1000 * count) / REQUESTS_PER_SECOND;
    await sleep(Math.max(0, due - performance.now()));
    replies.push(send(good).catch(() => Number.POSITIVE_INFINITY));
  }
  const times = (await Promise.all(replies)).sort((one, other) => one - other);
  const at = (share: number) => times[Math.floor(times.length * share)] ?? Number.NaN;
  return {
    p50: at(0.5),
    p99: at(0.99),
    failed: times.filter((time) => !Number.isFinite(time)).length,
  };
}

async function send({ url, init }: { url: string; init: RequestInit }): Promise<number> {
  const started = performance.now();
  const reply = await fetch(url, init);
  await reply.arrayBuffer();
  return reply.ok ? performance.now() - started : Number.POSITIVE_INFINITY;
}
