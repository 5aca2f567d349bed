/** An app with several workers: real processes that share a port or a Unix socket. */
import { existsSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from '@gatehouse/testing/suite';
import { afterAll, describe, expect, test } from '@jest/globals';
import { killWorkerApps, runWorkerApp, untilSlow, type WorkerApp } from './run-worker-app.ts';

const directory = temporaryFolder();
afterAll(killWorkerApps);

const isAlive = (pid: number) => existsSync(`/proc/${pid}/task`);

describe('several workers', () => {
  test('share a port, start one log, and answer for each other at the operations port', async () => {
    const app = await runWorkerApp({ workers: 3 });
    expect(app.workers().length).toBe(3);
    await app.everyWorkerAnswers();
    expect(app.lines('listening')).toMatchObject([{ workers: 3, app: 'test-app' }]);
    expect(app.lines('a warning').length).toBe(1);
    expect(await app.readyState()).toBe('200 3 of 3');
    expect(await app.operations('/document')).toEqual({ status: 200, text: '{"of":"a worker"}' });
    expect((await app.operations('/other')).status).toBe(404);
    app.child.kill('SIGTERM');
    expect(await app.exit).toBe(0);
  });

  test('share a Unix socket that every process can use, and remove its name at the end', async () => {
    const socketPath = join(directory, 'shared.sock');
    const app = await runWorkerApp({ workers: 2, socketPath });
    await app.everyWorkerAnswers();
    expect(statSync(socketPath).mode & 0o666).toBe(0o666);
    expect(await app.get('/')).toContain(' 127.0.0.1');
    const second = await runWorkerApp({ workers: 2, socketPath });
    expect(await second.exit).toBe(1);
    expect(second.output()).toContain('shared.sock is served by another process');
    // The failed start leaves no file and no worker.
    expect(readdirSync(directory)).toEqual(['shared.sock']);
    expect(() => process.kill(-(second.child.pid ?? 0), 0)).toThrow('ESRCH');
    const replies = app.load();
    await untilSlow(() => replies.outcomes.length > 20);
    app.child.kill('SIGTERM');
    // A failure shows the output.
    expect([await app.exit, app.output()]).toEqual([0, expect.any(String)]);
    // Later requests find no name. nginx treats that as not sent.
    expect(new Set(await replies.stop())).toEqual(new Set(['ENOENT']));
  });

  test.each(['port', 'socket'])(
    'on a %s: a killed worker is replaced while the others answer',
    async (kind) => {
      const socketPath = kind === 'socket' ? join(directory, 'killed.sock') : undefined;
      const app = await runWorkerApp({ workers: 2, ...(socketPath && { socketPath }) });
      const [killed = 0] = app.workers();
      const replies = app.load();
      await untilSlow(() => replies.outcomes.length > 20);
      process.kill(killed, 'SIGKILL');
      await untilSlow(() => app.lines('restarting a worker').length === 1);
      await untilSlow(async () => (await app.readyState()) === '200 2 of 2');
      await app.everyWorkerAnswers();
      const failed = await replies.stop();
      // Only requests on connections that the killed worker had accepted.
      expect(failed.length).toBeLessThanOrEqual(4);
      const lost = ['ECONNRESET', 'EPIPE'];
      expect(failed.filter((outcome) => !lost.includes(outcome))).toEqual([]);
      expect(app.workers()).not.toContain(killed);
      expect(await app.sampleOf('gatehouse_worker_restarts_total')).toBe(1);
      expect(app.lines('restarting a worker')).toMatchObject([
        { worker: killed, signal: 'SIGKILL', level: 'error' },
      ]);
    },
  );

  test('do not start if the first one cannot, and the reason is printed once', async () => {
    const trouble = join(directory, 'trouble');
    writeFileSync(trouble, '');
    const app = await runWorkerApp({ workers: 3, trouble });
    expect(await app.exit).toBe(1);
    const reason = 'test-app did not start: there is trouble';
    expect(app.output().split(reason).length).toBe(2);
  });

  test('start again after all of them were killed, some of them during their start', async () => {
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
    await untilSlow(async () => (await app.readyState()) === '200 2 of 2');
    await app.everyWorkerAnswers();
  });
  test('that end soon after their start are restarted while the others answer', async () => {
    const trouble = join(directory, 'crash-loop');
    const app = await runWorkerApp({ workers: 2, trouble });
    writeFileSync(`${trouble}-after-start`, '');
    process.kill(app.workers()[0] ?? 0, 'SIGKILL');
    await untilSlow(() => app.lines('restarting a worker').length >= 3);
    expect(await app.get('/')).toContain('127.0.0.1');
    rmSync(`${trouble}-after-start`);
    await untilSlow(async () => (await app.readyState()) === '200 2 of 2');
  });

  test('end together if all of them were killed and none can start again', async () => {
    const trouble = join(directory, 'late-trouble');
    const app = await runWorkerApp({ workers: 2, trouble });
    writeFileSync(trouble, '');
    for (const pid of app.workers()) {
      process.kill(pid, 'SIGKILL');
    }
    expect(await app.exit).toBe(1);
    expect(app.lines('no worker is left')).toMatchObject([{ level: 'fatal' }]);
  });

  test('write whole log lines, however slowly their output is read', async () => {
    const app = await runWorkerApp({ workers: 2 });
    app.child.stdout?.pause();
    const logging = Promise.all(Array.from({ length: 8 }, () => app.get('/log')));
    await untilSlow(() => app.child.stdout?.isPaused());
    app.child.stdout?.resume();
    await logging;
    await untilSlow(() => app.lines('a line').length === 16_000);
  });

  test('are replaced when they freeze, and new connections go to the others', async () => {
    const app = await runWorkerApp({ workers: 2 });
    const [frozen = 0] = app.workers();
    process.kill(frozen, 'SIGSTOP');
    for (let request = 0; request < 20; request += 1) {
      expect(await app.get('/')).toContain('127.0.0.1');
    }
    await untilSlow(async () => (await app.operations('/ready')).text.includes('1 of 2'));
    expect((await app.operations('/ready')).status).toBe(200);
    await untilSlow(() => !app.workers().includes(frozen));
    await untilSlow(async () => (await app.operations('/ready')).text.includes('2 of 2'));
    expect(app.lines('restarting a worker: it sent no answer')).toMatchObject([
      { worker: frozen, signal: 'SIGKILL' },
    ]);
  });
});

describe('the end of several workers', () => {
  test.each([
    ['the supervisor gets SIGTERM', (app: WorkerApp) => app.child.kill('SIGTERM')],
    // As systemd and Ctrl-C do.
    [
      'the whole group gets SIGTERM',
      (app: WorkerApp) => process.kill(-(app.child.pid ?? 0), 'SIGTERM'),
    ],
  ])('when %s, requests in flight get replies, and the exit code is 0', async (_name, end) => {
    const socketPath = join(directory, 'ending.sock');
    const app = await runWorkerApp({ workers: 2, socketPath });
    const replies = app.load('/slow');
    await untilSlow(() => replies.outcomes.length > 4);
    end(app);
    await untilSlow(
      async () => (await app.readyState().catch(() => '503 draining')) === '503 draining',
    );
    expect(await app.exit).toBe(0);
    expect(new Set(await replies.stop())).toEqual(new Set(['ENOENT']));
  });

  test('the exit code is 1 if a worker is killed while it drains', async () => {
    const app = await runWorkerApp({ workers: 2, shutdownDelayMilliseconds: 1000 });
    const [killed = 0] = app.workers();
    app.child.kill('SIGTERM');
    await untilSlow(async () => (await app.readyState()) === '503 draining');
    process.kill(killed, 'SIGKILL');
    expect(await app.exit).toBe(1);
    expect(app.output()).toContain('1 of 2 workers did not close in order.');
  });
  test('if the supervisor is killed, the workers answer requests in flight and end', async () => {
    const app = await runWorkerApp({ workers: 2 });
    const workers = app.workers();
    const slow = Array.from({ length: 8 }, () => app.get('/slow'));
    await untilSlow(async () => (await app.sampleOf('gatehouse_requests_in_flight')) === 8);
    app.child.kill('SIGKILL');
    for (const reply of await Promise.all(slow)) {
      expect(reply).toContain('127.0.0.1');
    }
    await untilSlow(() => !workers.some(isAlive));
  });

  test('a second signal ends all of them immediately', async () => {
    const app = await runWorkerApp({ workers: 2 });
    const workers = app.workers();
    const slow = Array.from({ length: 8 }, () => app.get('/slow'));
    await untilSlow(async () => (await app.sampleOf('gatehouse_requests_in_flight')) === 8);
    app.child.kill('SIGTERM');
    await untilSlow(async () => (await app.readyState()) === '503 draining');
    app.child.kill('SIGINT');
    expect(await app.exit).toBe(1);
    await untilSlow(() => !workers.some(isAlive));
    expect(new Set(await Promise.all(slow))).toEqual(new Set(['ECONNRESET']));
  });
});
