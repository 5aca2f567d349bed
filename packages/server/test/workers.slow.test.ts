/** Rare events in the life of several workers. */
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { until } from '@gatehouse/testing';
import { afterAll, describe, expect, test } from '@jest/globals';
import { killWorkerApps, runWorkerApp } from './run-worker-app.ts';
import { readyState, SECONDS, sampleOf, untilSlow } from './worker-load.ts';

const directory = mkdtempSync(join(tmpdir(), 'gatehouse-workers-'));

afterAll(() => {
  killWorkerApps();
  rmSync(directory, { recursive: true });
});

const isAlive = (pid: number) => existsSync(`/proc/${pid}/task`);

describe('several workers', () => {
  test(
    'that end soon after their start are restarted while the others answer',
    async () => {
      const trouble = join(directory, 'crash-loop');
      const app = await runWorkerApp({ workers: 2, trouble });
      writeFileSync(`${trouble}-after-start`, '');
      process.kill(app.workers()[0] ?? 0, 'SIGKILL');
      await untilSlow(() => app.lines('restarting a worker').length >= 3);
      expect(await app.get('/')).toContain('127.0.0.1');
      rmSync(`${trouble}-after-start`);
      await untilSlow(async () => (await readyState(app)) === '200 2 of 2');
    },
    2 * SECONDS * 1000,
  );

  test(
    'end together if all of them were killed and none can start again',
    async () => {
      const trouble = join(directory, 'late-trouble');
      const app = await runWorkerApp({ workers: 2, trouble });
      writeFileSync(trouble, '');
      for (const pid of app.workers()) {
        process.kill(pid, 'SIGKILL');
      }
      expect(await app.exit).toBe(1);
      expect(app.lines('no worker is left')).toMatchObject([{ level: 'fatal' }]);
    },
    SECONDS * 1000,
  );

  test(
    'write whole log lines, however slowly their output is read',
    async () => {
      const app = await runWorkerApp({ workers: 2 });
      app.child.stdout?.pause();
      const logging = Promise.all(Array.from({ length: 8 }, () => app.get('/log')));
      await until(() => app.child.stdout?.isPaused());
      app.child.stdout?.resume();
      await logging;
      await untilSlow(() => app.lines('a line').length === 16_000);
    },
    SECONDS * 1000,
  );

  test(
    'are replaced when they freeze, and new connections go to the others',
    async () => {
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
    },
    2 * SECONDS * 1000,
  );
});

describe('the end of several workers', () => {
  test(
    'if the supervisor is killed, the workers answer requests in flight and end',
    async () => {
      const app = await runWorkerApp({ workers: 2 });
      const workers = app.workers();
      const slow = Array.from({ length: 8 }, () => app.get('/slow'));
      await untilSlow(async () => (await sampleOf(app, 'gatehouse_requests_in_flight')) === 8);
      app.child.kill('SIGKILL');
      for (const reply of await Promise.all(slow)) {
        expect(reply).toContain('127.0.0.1');
      }
      await untilSlow(() => !workers.some(isAlive));
    },
    SECONDS * 1000,
  );

  test(
    'a second signal ends all of them immediately',
    async () => {
      const app = await runWorkerApp({ workers: 2 });
      const workers = app.workers();
      const slow = Array.from({ length: 8 }, () => app.get('/slow'));
      await untilSlow(async () => (await sampleOf(app, 'gatehouse_requests_in_flight')) === 8);
      app.child.kill('SIGTERM');
      await untilSlow(async () => (await readyState(app)) === '503 draining');
      app.child.kill('SIGINT');
      expect(await app.exit).toBe(1);
      await untilSlow(() => !workers.some(isAlive));
      expect(new Set(await Promise.all(slow))).toEqual(new Set(['ECONNRESET']));
    },
    SECONDS * 1000,
  );
});
