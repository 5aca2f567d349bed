/**
 * Fills a Redis with live tokens, and compares their reads and their memory with a Redis that has a
 * thousand. It copies records of an authorization server under other keys. Single reads go
 * alternately to both servers through the store's own code, because other work on the machine
 * affects both.
 *
 *   node bench/store/live-tokens.ts [most=10000000] [rounds=9]
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createStore, type Store } from '@gatehouse/store';
import { type RedisServer, startRedisServer } from '@gatehouse/testing';
import { print } from '../device-service/printing.ts';
import { median, percentile } from '../machinery/percentile.ts';
import { newKey, type StoredToken, sampleTokens } from './sample-tokens.ts';

const MOST = Number(process.argv[2] ?? 10_000_000);
const ROUNDS = Number(process.argv[3] ?? 9);
const FEWEST = 1000;
const SAMPLES = 100;
const READS = 5000;
/** As many keys of each server are read, so that the reads cost the process the same. */
const KNOWN_KEYS = 1000;
const LIFETIME_SECONDS = 7200;

interface Side {
  readonly redis: RedisServer;
  readonly store: Store;
  readonly keys: string[];
  readonly emptyBytes: number;
  count: number;
}

const samplesRedis = await startRedisServer();
const samples = await sampleTokens(samplesRedis, SAMPLES);
await samplesRedis.stop();
const few = await startSide();
const many = await startSide();
await add(few, FEWEST);

print('| live tokens | bytes each | p50 | p99 | ratio of p99 |\n|---|---|---|---|---|');
const results = [];
for (let count = FEWEST; count <= MOST; count *= count === FEWEST ? 100 : 10) {
  await add(many, count - many.count);
  const result = { count, bytesEach: await bytesEach(many), ...(await compareReads()) };
  results.push(result);
  const { p50, p99, ratio } = result;
  print(
    `| ${count} | ${result.bytesEach.toFixed(0)} | ${p50.toFixed(2)} ms | ${p99.toFixed(2)} ms | ${ratio.toFixed(2)} |`,
  );
}
print(`\n${JSON.stringify({ bench: 'live-tokens', results })}`);
for (const { store, redis } of [few, many]) {
  await store.close();
  await redis.stop();
}

async function startSide(): Promise<Side> {
  const redis = await startRedisServer();
  const emptyBytes = await usedBytes(redis);
  return { redis, store: createStore(redis.url), keys: [], emptyBytes, count: 0 };
}

/** Writes through `redis-cli --pipe`, because ten million awaited writes would take an hour. */
async function add(side: Side, count: number): Promise<void> {
  const pipe = spawn('redis-cli', ['-p', String(side.redis.port), '--pipe'], {
    stdio: ['pipe', 'ignore', 'inherit'],
  });
  const done = once(pipe, 'close');
  let text = '';
  for (let i = 0; i < count; i += 1) {
    const key = newKey();
    text += setCommand(key, samples[i % samples.length]);
    if (side.keys.length < KNOWN_KEYS) {
      side.keys.push(key);
    } else if (Math.random() < KNOWN_KEYS / (side.count + i)) {
      side.keys[Math.floor(Math.random() * KNOWN_KEYS)] = key;
    }
    if (text.length > 1_000_000) {
      if (!pipe.stdin.write(text)) {
        await once(pipe.stdin, 'drain');
      }
      text = '';
    }
  }
  pipe.stdin.end(text);
  await done;
  side.count += count;
  const stored = Number((await side.redis.command('DBSIZE')).replace(/\D/g, ''));
  if (stored !== side.count) {
    throw new Error(`Redis has ${stored} keys instead of ${side.count}.`);
  }
}

function setCommand(key: string, { value } = samples[0] as StoredToken): string {
  const lifetime = String(LIFETIME_SECONDS * 1000 + Math.floor(Math.random() * 3_600_000));
  return ['SET', key, value, 'PX', lifetime].reduce(
    (command, word) => `${command}$${word.length}\r\n${word}\r\n`,
    '*5\r\n',
  );
}

async function compareReads() {
  const rounds = [];
  for (let round = 0; round <= ROUNDS; round += 1) {
    const small: number[] = [];
    const large: number[] = [];
    for (let i = 0; i < READS; i += 1) {
      small.push(await readDuration(few));
      large.push(await readDuration(many));
    }
    if (round > 0) {
      const [p50, p99] = [percentile(large, 0.5), percentile(large, 0.99)];
      rounds.push({ p50, p99, ratio: p99 / percentile(small, 0.99) });
    }
  }
  return {
    p50: median(rounds.map(({ p50 }) => p50)),
    p99: median(rounds.map(({ p99 }) => p99)),
    ratio: median(rounds.map(({ ratio }) => ratio)),
  };
}

async function readDuration({ store, keys }: Side): Promise<number> {
  const key = keys[Math.floor(Math.random() * keys.length)] ?? '';
  const started = performance.now();
  if ((await store.get(key)) === undefined) {
    throw new Error('A live token is missing.');
  }
  return performance.now() - started;
}

async function bytesEach({ redis, emptyBytes, count }: Side): Promise<number> {
  return ((await usedBytes(redis)) - emptyBytes) / count;
}

async function usedBytes(redis: RedisServer): Promise<number> {
  return Number(/used_memory:(\d+)/.exec(await redis.command('INFO', 'memory'))?.[1]);
}
