/** A worker that stops answering, next to one that works. */
import { until } from '@gatehouse/testing';
import { afterAll, expect, test } from '@jest/globals';
import { killWorkerApps, runWorkerApp } from './run-worker-app.ts';

afterAll(killWorkerApps);

test('a frozen worker is killed and replaced, and new connections go to the others', async () => {
  const app = await runWorkerApp({ workers: 2 });
  const [frozen = 0] = app.workers();
  process.kill(frozen, 'SIGSTOP');
  for (let request = 0; request < 20; request += 1) {
    expect(await app.get('/')).toContain('127.0.0.1');
  }
  await until(async () => (await app.operations('/ready')).text.includes('1 of 2'));
  expect((await app.operations('/ready')).status).toBe(200);
  await until(() => !app.workers().includes(frozen), 60);
  await until(async () => (await app.operations('/ready')).text.includes('2 of 2'), 60);
  expect(app.lines('restarting a worker: it sent no answer')).toMatchObject([
    { worker: frozen, signal: 'SIGKILL' },
  ]);
}, 120_000);
