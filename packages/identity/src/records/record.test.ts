import type { Store } from '@gatehouse/store';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { createRecordCache, MAXIMUM_RECORD_AGE_MILLISECONDS } from './record.ts';

/** A store whose reads the test can delay. */
function slowStore(values: Map<string, string>) {
  const waiting: (() => void)[] = [];
  let reads = 0;
  let held = false;
  const get = async (key: string) => {
    reads += 1;
    const value = values.get(key);
    if (held) {
      await new Promise<void>((resolve) => waiting.push(resolve));
    }
    return value;
  };
  return {
    store: { get } as unknown as Store,
    reads: () => reads,
    hold: () => {
      held = true;
    },
    release: () => {
      held = false;
      waiting.splice(0).forEach((resolve) => {
        resolve();
      });
    },
  };
}

describe('a record cache', () => {
  const values = new Map<string, string>();
  let time = 0;
  let slow = slowStore(values);
  const parse = (text: string) => (text === 'damaged' ? undefined : { text });
  let cache = createRecordCache(slow.store, parse, () => time);

  beforeEach(() => {
    time = 1_000_000;
    values.clear();
    values.set('a', '1');
    slow = slowStore(values);
    cache = createRecordCache(slow.store, parse, () => time);
  });

  test('returns a copy that is at most 50 ms old', async () => {
    expect(await cache.read('a')).toEqual({ text: '1' });
    values.set('a', '2');
    time += MAXIMUM_RECORD_AGE_MILLISECONDS - 1;
    expect(await cache.read('a')).toEqual({ text: '1' });
    time += 1;
    expect(await cache.read('a')).toEqual({ text: '2' });
    expect(slow.reads()).toBe(2);
  });

  test('returns the same object for an unchanged record', async () => {
    const first = await cache.read('a');
    time += MAXIMUM_RECORD_AGE_MILLISECONDS;
    expect(await cache.read('a')).toBe(first);
    values.set('a', '2');
    time += MAXIMUM_RECORD_AGE_MILLISECONDS;
    const second = await cache.read('a');
    expect(second).not.toBe(first);
    values.set('a', '1');
    cache.forget('a');
    expect(await cache.read('a')).not.toBe(first);
    expect(slow.reads()).toBe(4);
  });

  test('counts the age from the start of the read', async () => {
    slow.hold();
    const first = cache.read('a');
    values.set('a', '2');
    time += MAXIMUM_RECORD_AGE_MILLISECONDS;
    slow.release();
    await first;
    expect(await cache.read('a')).toEqual({ text: '2' });
  });

  test('discards copies if the clock is set back', async () => {
    await cache.read('a');
    values.set('a', '2');
    time -= 3_600_000;
    expect(await cache.read('a')).toEqual({ text: '2' });
  });

  test('forgets a record immediately, even during a read', async () => {
    slow.hold();
    const stale = cache.read('a');
    values.set('a', '2');
    cache.forget('a');
    slow.release();
    expect(await stale).toEqual({ text: '1' });
    expect(await cache.read('a')).toEqual({ text: '2' });
  });

  test('shares a read between concurrent callers, but not with later ones or after a write', async () => {
    slow.hold();
    const together = [cache.read('a'), cache.read('a'), cache.read('a')];
    expect(slow.reads()).toBe(1);
    time += MAXIMUM_RECORD_AGE_MILLISECONDS;
    values.set('a', '2');
    const late = cache.read('a');
    expect(slow.reads()).toBe(2);
    values.set('a', '3');
    cache.forget('a');
    const afterWrite = cache.read('a');
    expect(slow.reads()).toBe(3);
    slow.release();
    const texts = (await Promise.all([...together, late, afterWrite])).map((each) => each?.text);
    expect(texts).toEqual(['1', '1', '1', '2', '3']);
    expect(await cache.read('a')).toEqual({ text: '3' });
  });

  test('caches absent records as long as existing ones', async () => {
    for (let i = 0; i < 5; i += 1) {
      expect(await cache.read('nobody')).toBeUndefined();
    }
    expect(slow.reads()).toBe(1);
    values.set('nobody', '1');
    time += MAXIMUM_RECORD_AGE_MILLISECONDS;
    expect(await cache.read('nobody')).toEqual({ text: '1' });
  });

  test('is bounded for any number of invented names', async () => {
    for (let i = 0; i < 25_000; i += 1) {
      await cache.read(`invented-${i}`);
    }
    await cache.read('a');
    expect(slow.reads()).toBe(25_001);
    const long = 'x'.repeat(10_000);
    await cache.read(long);
    await cache.read(long);
    expect(slow.reads()).toBe(25_003);
  });

  test('keeps the copy of a record in use while invented names flood the cache', async () => {
    for (let i = 0; i < 25_000; i += 1) {
      await cache.read(`invented-${i}`);
      if (i % 1000 === 0) {
        await cache.read('a');
      }
    }
    expect(slow.reads()).toBe(25_001);
  });

  test('throws if the store is unavailable, even for cached records', async () => {
    await cache.read('a');
    const away = createRecordCache(
      { get: async () => Promise.reject(new Error('away')) } as unknown as Store,
      parse,
      () => time,
    );
    await expect(away.read('a')).rejects.toThrow('away');
  });
});
