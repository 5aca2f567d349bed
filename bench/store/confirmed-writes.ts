/**
 * Measures the cost of a claim that replicas confirm. One process sends the same claims alternately
 * to a Redis without replicas and to one with two.
 *
 *   node bench/store/confirmed-writes.ts [rounds]
 */
import { createStore, type Store } from '@gatehouse/store';
import { startRedisServer } from '@gatehouse/testing';
import { median } from '../machinery/percentile.ts';

const rounds = Number(process.argv[2] ?? 3);
const CLAIMS = 8000;
const concurrencyLevels = [1, 16, 256];

const file = ['--appendonly', 'yes', '--appendfsync', 'everysec'];
const alone = await startRedisServer({ arguments: file });
const master = await startRedisServer({
  arguments: [...file, '--repl-diskless-sync-delay', '0'],
});
const replicaArguments = ['--replicaof', '127.0.0.1', String(master.port), ...file];
const replicas = [
  await startRedisServer({ arguments: [...replicaArguments] }),
  await startRedisServer({ arguments: [...replicaArguments] }),
];
while (
  !/connected_slaves:2[\s\S]*online[\s\S]*online/.test(await master.command('INFO', 'replication'))
) {
  await new Promise((resolve) => setTimeout(resolve, 50));
}
const stores = { 'no replicas': createStore(alone.url), 'two replicas': createStore(master.url) };

const samples = new Map<string, { rate: number[]; p50: number[]; p99: number[] }>();
for (let round = 0; round <= rounds; round += 1) {
  for (const concurrency of concurrencyLevels) {
    for (const [name, store] of Object.entries(stores)) {
      const result = await measure(store, concurrency, round);
      if (round > 0) {
        const key = `${concurrency} at once, ${name}`;
        const sample = samples.get(key) ?? { rate: [], p50: [], p99: [] };
        sample.rate.push(result.rate);
        sample.p50.push(result.p50);
        sample.p99.push(result.p99);
        samples.set(key, sample);
      }
    }
  }
}
for (const [name, { rate, p50, p99 }] of samples) {
  console.log(
    `${name}: ${Math.round(median(rate))} claims/s, p50 ${median(p50).toFixed(2)} ms, p99 ${median(p99).toFixed(2)} ms`,
  );
}
await Promise.all(Object.values(stores).map((store) => store.close()));
await Promise.all([alone, master, ...replicas].map((server) => server.stop()));

async function measure(store: Store, concurrency: number, round: number) {
  const durations: number[] = [];
  let next = 0;
  const started = performance.now();
  await Promise.all(
    Array.from({ length: concurrency }, async () => {
      while (next < (concurrency === 1 ? CLAIMS / 8 : CLAIMS)) {
        const number = next;
        next += 1;
        const sent = performance.now();
        await store.claim(`claim:${round}:${concurrency}:${number}`, 'owner', 60);
        durations.push(performance.now() - sent);
      }
    }),
  );
  const seconds = (performance.now() - started) / 1000;
  durations.sort((one, other) => one - other);
  const percentile = (share: number) => durations[Math.floor(durations.length * share)] ?? 0;
  return { rate: durations.length / seconds, p50: percentile(0.5), p99: percentile(0.99) };
}
