/** An app with several workers: real processes that share a port or a Unix socket. */
import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from '@jest/globals';
import { killWorkerApps, runWorkerApp, type WorkerApp } from './run-worker-app.ts';
import {
  everyWorkerAnswers,
  load,
  readyState,
  SECONDS,
  sampleOf,
  untilSlow,
} from './worker-load.ts';

const directory = mkdtempSync(join(tmpdir(), 'gatehouse-workers-'));

afterAll(() => {
  killWorkerApps();
  rmSync(directory, { recursive: true });
});

describe('several workers', () => {
  test(
    'share a port, start one log, and answer for each other at the operations port',
    async () => {
      const app = await runWorkerApp({ workers: 3 });
      expect(app.workers().length).toBe(3);
      await everyWorkerAnswers(app);
      expect(app.lines('listening')).toMatchObject([{ workers: 3, app: 'test-app' }]);
      expect(app.lines('a warning').length).toBe(1);
      expect(await readyState(app)).toBe('200 3 of 3');
      expect(await app.operations('/document')).toEqual({ status: 200, text: '{"of":"a worker"}' });
      expect((await app.operations('/other')).status).toBe(404);
      app.child.kill('SIGTERM');
      expect(await app.exit).toBe(0);
    },
    SECONDS * 1000,
  );

  test(
    'share a Unix socket that every process can use, and remove its name at the end',
    async () => {
      const socketPath = join(directory, 'shared.sock');
      const app = await runWorkerApp({ workers: 2, socketPath });
      await everyWorkerAnswers(app);
      expect(statSync(socketPath).mode & 0o666).toBe(0o666);
      expect(await app.get('/')).toContain(' 127.0.0.1');
      const second = await runWorkerApp({ workers: 2, socketPath });
      expect(await second.exit).toBe(1);
      expect(second.output()).toContain('shared.sock is served by another process');
      // The failed start leaves no file and no worker.
      expect(readdirSync(directory)).toEqual(['shared.sock']);
      expect(() => process.kill(-(second.child.pid ?? 0), 0)).toThrow('ESRCH');
      const replies = load(app);
      await untilSlow(() => replies.outcomes.length > 20);
      app.child.kill('SIGTERM');
      // A failure shows the output.
      expect([await app.exit, app.output()]).toEqual([0, expect.any(String)]);
      // Later requests find no name. nginx treats that as not sent.
      expect(new Set(await replies.stop())).toEqual(new Set(['ENOENT']));
    },
    SECONDS * 1000,
  );

  test.each(['port', 'socket'])(
    'on a %s: a killed worker is replaced while the others answer',
    async (kind) => {
      const socketPath = kind === 'socket' ? join(directory, 'killed.sock') : undefined;
      const app = await runWorkerApp({ workers: 2, ...(socketPath && { socketPath }) });
      const [killed = 0] = app.workers();
      const replies = load(app);
      await untilSlow(() => replies.outcomes.length > 20);
      process.kill(killed, 'SIGKILL');
      await untilSlow(() => app.lines('restarting a worker').length === 1);
      await untilSlow(async () => (await readyState(app)) === '200 2 of 2');
      await everyWorkerAnswers(app);
      const failed = await replies.stop();
      // Only requests on connections that the killed worker had accepted.
      expect(failed.length).toBeLessThanOrEqual(4);
      const lost = ['ECONNRESET', 'EPIPE'];
      expect(failed.filter((outcome) => !lost.includes(outcome))).toEqual([]);
      expect(app.workers()).not.toContain(killed);
      expect(await sampleOf(app, 'gatehouse_worker_restarts_total')).toBe(1);
      expect(app.lines('restarting a worker')).toMatchObject([
        { worker: killed, signal: 'SIGKILL', level: 'error' },
      ]);
    },
    2 * SECONDS * 1000,
  );

  test(
    'do not start if the first one cannot, and the reason is printed once',
    async () => {
      const trouble = join(directory, 'trouble');
      writeFileSync(trouble, '');
      const app = await runWorkerApp({ workers: 3, trouble });
      expect(await app.exit).toBe(1);
      const reason = 'test-app did not start: there is trouble';
      expect(app.output().split(reason).length).toBe(2);
      expect(app.output()).not.toContain('StartReportedError');
    },
    SECONDS * 1000,
  );

  test(
    'start again after all of them were killed, some of them during their start',
    async () => {
      const trouble = join(directory, 'killed-start');
      const socketPath = join(directory, 'all-killed.sock');
      const app = await runWorkerApp({ workers: 2, trouble, socketPath });
      writeFileSync(`${trouble}-signal`, '');
      for (const pid of app.workers()) {
        process.kill(pid, 'SIGKILL');
      }
      await untilSlow(() => app.lines('restarting a worker').length >= 6);
      // No process holds the shared socket open.
      expect(await app.get('/')).toBe('ECONNREFUSED');
      rmSync(`${trouble}-signal`);
      await untilSlow(async () => (await readyState(app)) === '200 2 of 2');
      await everyWorkerAnswers(app);
    },
    2 * SECONDS * 1000,
  );
});

describe('the end of several workers', () => {
  test.each([
    ['the supervisor gets SIGTERM', (app: WorkerApp) => app.child.kill('SIGTERM')],
    // As systemd and Ctrl-C do.
    [
      'the whole group gets SIGTERM',
      (app: WorkerApp) => process.kill(-(app.child.pid ?? 0), 'SIGTERM'),
    ],
  ])(
    'when %s, requests in flight get replies, and the exit code is 0',
    async (_name, end) => {
      const socketPath = join(directory, 'ending.sock');
      const app = await runWorkerApp({ workers: 2, socketPath });
      const replies = load(app, '/slow');
      await untilSlow(() => replies.outcomes.length > 4);
      end(app);
      await untilSlow(
        async () => (await readyState(app).catch(() => '503 draining')) === '503 draining',
      );
      expect(await app.exit).toBe(0);
      expect(new Set(await replies.stop())).toEqual(new Set(['ENOENT']));
    },
    SECONDS * 1000,
  );

  test(
    'the exit code is 1 if a worker is killed while it drains',
    async () => {
      const app = await runWorkerApp({ workers: 2, shutdownDelayMilliseconds: 1000 });
      const [killed = 0] = app.workers();
      app.child.kill('SIGTERM');
      await untilSlow(async () => (await readyState(app)) === '503 draining');
      process.kill(killed, 'SIGKILL');
      expect(await app.exit).toBe(1);
      expect(app.output()).toContain('1 of 2 workers did not close in order.');
    },
    SECONDS * 1000,
  );
});
