import { setTimeout as sleep } from 'node:timers/promises';

const REQUESTS_PER_SECOND = 100;

/**
 * Sends a request every 10 ms, whether earlier ones are answered or not, as independent callers do: a server that
 * hangs shows in every request that came meanwhile.
 *
 * @returns milliseconds
 * @throws Error when one is not answered with 2xx
 */
export async function measureGoodRequests(
  good: { readonly url: string; readonly init: RequestInit },
  seconds: number,
): Promise<{ readonly p50: number; readonly p99: number }> {
  const started = performance.now();
  const replies: Promise<number>[] = [];
  for (let count = 0; count < seconds * REQUESTS_PER_SECOND; count += 1) {
    const due = started + (1000 * count) / REQUESTS_PER_SECOND;
    await sleep(Math.max(0, due - performance.now()));
    const reply = send(good);
    // It is awaited below; until then a failure must not end the process.
    reply.catch(() => undefined);
    replies.push(reply);
  }
  const times = (await Promise.all(replies)).sort((one, other) => one - other);
  const at = (share: number) => times[Math.floor(times.length * share)] ?? Number.NaN;
  return { p50: at(0.5), p99: at(0.99) };
}

async function send({ url, init }: { url: string; init: RequestInit }): Promise<number> {
  const started = performance.now();
  const reply = await fetch(url, init);
  const text = await reply.text();
  if (!reply.ok) {
    throw new Error(`${reply.status}: ${text}`);
  }
  return performance.now() - started;
}
