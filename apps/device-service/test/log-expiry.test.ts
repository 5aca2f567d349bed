// requires: postgresql
import { until } from '@gatehouse/testing';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { expireLogStep, startLogExpiry } from '../src/logs/expiry.ts';
import { camera, createDeviceClient } from './device-client.ts';
import { bootOnEngines } from './device-suite.ts';

const DAY = 24 * 60 * 60 * 1000;
let clock = Date.now();

describe.each(await bootOnEngines(() => clock))('log records on $name', ({ app }) => {
  const client = createDeviceClient(app);

  beforeAll(async () => {
    for (const org of ['org-1', 'org-2']) {
      await client.create({ id: 'd', ...camera }, org);
    }
  });

  const report = (org: string, count: number) =>
    client.report('d', Array(count).fill({ type: 'event' }), org);
  const left = async (org: string) =>
    Number((await client.log('d', '', org)).headers['x-total-count']);
  const expire = (storedBefore: number, limit: number) =>
    expireLogStep(app.database, storedBefore, limit);

  test('expire by the time of storage, in steps, not by the time that the device reported', async () => {
    const start = clock;
    await report('org-1', 30);
    await report('org-2', 10);
    clock = start + DAY;
    await client.report('d', { type: 'event', timestamp: start - 20 * DAY });

    expect(await expire(start, 25)).toBe(0);
    expect(await expire(start + 1, 25)).toBe(25);
    expect(await expire(start + 1, 25)).toBe(15);
    expect(await left('org-1')).toBe(1);
    expect(await left('org-2')).toBe(0);
  });

  test('are deleted in the background until no expired record is left', async () => {
    await report('org-1', 1000);
    await report('org-2', 700);
    const failures: unknown[] = [];
    const expiry = startLogExpiry({
      database: app.database,
      retentionDays: 3,
      now: () => clock + 3 * DAY + 1,
      onFailure: (error) => failures.push(error),
    });
    await until(async () => (await left('org-1')) + (await left('org-2')) === 0);
    await expiry.close();

    expect(failures).toEqual([]);
  });
});
