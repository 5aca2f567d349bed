/**
 * Writes tokens through the store's own code, waits until they have expired, and compares the size
 * of the store with its size before. The tokens live as long as the writing takes.
 *
 *   node bench/store/expired-tokens.ts [tokens=1000000] [lifetime seconds=60] [Redis|SQLite]
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createStore, type Store } from '@gatehouse/store';
import { startRedisServer } from '@gatehouse/testing';
import { print } from '../device-service/printing.ts';
import { newKey, sampleTokens } from './sample-tokens.ts';

const TOKENS = Number(process.argv[2] ?? 1_000_000);
const LIFETIME_SECONDS = Number(process.argv[3] ?? 60);
const ENGINE = process.argv[4] ?? '';
const AT_ONCE = 64;
const PATIENCE_SECONDS = 500;
const MEGABYTE = 1_000_000;
/** SQLite keeps 256 KiB of free pages. */
const KEPT_BYTES = MEGABYTE;

const redis = await startRedisServer();
const samples = await sampleTokens(redis, 100);
await redis.command('FLUSHALL');
const directory = mkdtempSync(join(tmpdir(), 'gatehouse-bench-'));
const urls = { Redis: redis.url, SQLite: `sqlite:${join(directory, 'store.sqlite')}` };

print(
  '| engine | before | largest | after | seconds after the last expiry |\n|---|---|---|---|---|',
);
const results = [];
for (const [engine, url] of Object.entries(urls).filter(([name]) => name.startsWith(ENGINE))) {
  const store = createStore(url);
  const result = { engine, tokens: TOKENS, ...(await issueAndExpire(store)) };
  results.push(result);
  const sizes = [result.before, result.largest, result.after].map(megabytes).join(' | ');
  print(`| ${engine} | ${sizes} | ${result.seconds.toFixed(0)} |`);
  await store.close();
}
print(`\n${JSON.stringify({ bench: 'expired-tokens', results })}`);
await redis.stop();
rmSync(directory, { recursive: true });

async function issueAndExpire(store: Store) {
  await store.set('other', 'value');
  const before = await sizeOf(store);
  let issued = 0;
  let largest = before;
  const issue = async () => {
    while (issued < TOKENS) {
      issued += 1;
      const value = samples[issued % samples.length]?.value ?? '';
      await store.set(newKey(), value, LIFETIME_SECONDS);
      if (issued % 10_000 === 0) {
        largest = Math.max(largest, await sizeOf(store));
      }
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, issue));
  await sleep(LIFETIME_SECONDS * 1000);
  const expired = performance.now();
  let after = await sizeOf(store);
  const seconds = () => (performance.now() - expired) / 1000;
  while (after > before + KEPT_BYTES && seconds() < PATIENCE_SECONDS) {
    await sleep(1000);
    await store.set('other', 'value');
    after = await sizeOf(store);
  }
  return { before, largest, after, seconds: seconds() };
}

async function sizeOf(store: Store): Promise<number> {
  return (await store.ping()).usedBytes;
}

function megabytes(bytes: number): string {
  return `${(bytes / MEGABYTE).toFixed(1)} MB`;
}
