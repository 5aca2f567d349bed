/** Fills the small file system of its folder, and prints the results of store operations. */
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createStore, storeReadiness } from '../../src/index.ts';
import type { StoreState } from '../../src/store-watch.ts';

const [folder = ''] = process.argv.slice(2);
const filler = join(folder, 'filler');
const changes: (readonly [StoreState, string | undefined])[] = [];
const store = createStore(`sqlite:${join(folder, 'store.db')}`, {
  onStateChange: (...change) => changes.push(change),
});
const revokes = { revokes: true };
const nameOf = (work: Promise<unknown>) =>
  work.then(
    () => 'ok',
    (error: Error) => error.name,
  );

/** Runs every kind of write, as a revocation and as an ordinary write. */
const writes = async (key: string) => ({
  revoking: [
    await nameOf(store.set(key, 'revoked', undefined, revokes)),
    await nameOf(store.claim(`lock:${key}`, 'owner', 60, revokes)),
    await nameOf(store.append('audit', [key], 1000, revokes)),
    await nameOf(store.delete([`lock:${key}`])),
  ],
  ordinary: [
    await nameOf(store.set(`new:${key}`, 'value')),
    await nameOf(store.claim(`claim:${key}`, 'owner')),
    await nameOf(store.append('log', [key], 1000)),
    await nameOf(store.increment(`counter:${key}`, 60)),
    await nameOf(store.addToIndex('index', key, Date.now() + 60_000)),
  ],
});

async function untilReady(): Promise<void> {
  while ((await storeReadiness(store)).state !== 'ok') {
    await sleep(20);
  }
}

await store.set('client', 'enabled');
writeFileSync(filler, Buffer.alloc(8 * 1024 * 1024));
let filled = 0;
let freeBytes = Number.NaN;
while ((await nameOf(store.set(`entry:${filled}`, 'x'.repeat(10_000)))) === 'ok') {
  filled += 1;
  freeBytes = await store.ping().then(
    ({ usedBytes, maximumBytes = Number.NaN }) => maximumBytes - usedBytes,
    () => freeBytes,
  );
}
const reserve = await writes('client');
const statuses = new Set<string>();
for (let i = 0; i < 3000; i += 1) {
  statuses.add(await nameOf(store.set(`tombstone:${i}`, '', 3600, revokes)));
}
const atReserve = {
  ...reserve,
  revocations: [...statuses],
  read: await store.get('client'),
  readiness: await storeReadiness(store),
};
rmSync(filler);
await untilReady();
const withRoom = await writes('with-room');

try {
  writeFileSync(filler, Buffer.alloc(64 * 1024 * 1024));
} catch {
  // The file uses all the free space.
}
for (
  let i = 0;
  (await nameOf(store.set(`late:${i}`, 'x'.repeat(10_000), 60, revokes))) === 'ok';
) {
  i += 1;
}
const withoutRoom = {
  revoking: await nameOf(store.set('late', 'x'.repeat(10_000), 60, revokes)),
  read: await store.get('client'),
  readiness: await storeReadiness(store),
};
rmSync(filler);
await untilReady();
const recovered = await writes('recovered');
await store.close();
process.stdout.write(
  JSON.stringify({ filled, freeBytes, atReserve, withRoom, withoutRoom, recovered, changes }),
);
