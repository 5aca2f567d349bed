/**
 * Runs a task of the tests in a separate process: `node store-worker.ts <store URL> <task> <key>
 * …`.
 */
import { setImmediate } from 'node:timers/promises';
import { createStore, StoreUnavailableError } from '../../src/index.ts';

const [url = '', task = '', key = '', ...rest] = process.argv.slice(2);
const store = createStore(url);

async function perform(): Promise<string> {
  switch (task) {
    case 'get':
      return String(await store.get(key));
    case 'set':
      await store.set(key, rest[0] ?? '');
      return 'done';
    case 'increment':
      for (let done = 0; done < Number(rest[0]); done += 1) {
        await store.increment(key, 60);
      }
      return 'done';
    case 'claim':
      return await claimAll(Number(rest[0]), rest[1] ?? '');
    case 'write until killed':
      return await writeUntilKilled();
    default:
      throw new Error(`Unknown task ${task}.`);
  }
}

async function claimAll(count: number, owner: string): Promise<string> {
  const holders: string[] = [];
  for (let number = 0; number < count; number += 1) {
    holders.push(await store.claim(`${key}:${number}`, owner, 60));
  }
  return holders.join(',');
}

/** Prints a number only after the store has acknowledged it. A busy disk may reject a write. */
async function writeUntilKilled(): Promise<never> {
  for (let number = 0; ; number += 1) {
    const isWritten = await store.set(`${key}:${number}`, `value-${number}`).then(
      () => true,
      (error: unknown) => {
        if (!(error instanceof StoreUnavailableError)) {
          throw error;
        }
        return false;
      },
    );
    if (isWritten) {
      process.stdout.write(`${number}\n`);
    }
    // SQLite works within one turn of the event loop. Output that did not fit into the pipe waits
    // for the next turn.
    await setImmediate();
  }
}

process.stdout.write(await perform());
await store.close();
