/** An app with several workers: real processes that share a port or a Unix socket. */
import { existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseMetrics, until } from '@gatehouse/testing';
import { afterAll, describe, expect, test } from '@jest/globals';
import { killWorkerApps, runWorkerApp, type WorkerApp } from './run-worker-app.ts';

const SECONDS = 60;
const directory = mkdtempSync(join(tmpdir(), 'gatehouse-workers-'));

afterAll(() => {
  killWorkerApps();
  rmSync(directory, { recursive: true });
});

const untilSlow = (attempt: () => unknown) => until(attempt, SECONDS);

async function readyState(app: WorkerApp): Promise<string> {
  const { status, text } = await app.operations('/ready');
  return `${status} ${JSON.parse(text).checks?.workers ?? JSON.parse(text).status}`;
}

async function sampleOf(app: WorkerApp, name: string): Promise<number> {
  const families = parseMetrics((await app.operations('/metrics')).text);
  const samples = [...families.values()].flatMap((family) => family.samples);
  return samples
    .filter((sample) => sample.name === name)
    .reduce((sum, { value }) => sum + value, 0);
}

/** Sends requests until every worker has answered one. */
async function everyWorkerAnswers(app: WorkerApp): Promise<void> {
  const seen = new Set<number>();
  await untilSlow(async () => {
    const replies = await Promise.all(Array.from({ length: 20 }, () => app.get('/')));
    for (const reply of replies) {
      seen.add(Number.parseInt(reply, 10));
    }
    return app.workers().every((pid) => seen.has(pid));
  });
}

/** Sends requests on new connections, some at a time, until it is stopped. */
function load(app: WorkerApp, path = '/') {
  let stopped = false;
  const outcomes: string[] = [];
  const sending = Array.from({ length: 4 }, async () => {
    while (!stopped) {
      outcomes.push(await app.get(path));
    }
  });
  return {
    outcomes,
    async stop(): Promise<readonly string[]> {
      stopped = true;
      await Promise.all(sending);
      return outcomes.filter((outcome) => !outcome.endsWith('127.0.0.1'));
    },
  };
}

const isAlive = (pid: number) => existsSync(`/proc/${pid}/task`);

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
      const replies = load(app);
      await untilSlow(() => replies.outcomes.length > 20);
      app.child.kill('SIGTERM');
      expect(await app.exit).toBe(0);
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
      await untilSlow(async () => (await readyState(app)) === '200 1 of 2');
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
    'add their metrics, and keep the counts of a worker that was killed',
    async () => {
      const app = await runWorkerApp({ workers: 2 });
      const count = () => sampleOf(app, 'gatehouse_requests_total');
      await Promise.all(Array.from({ length: 50 }, () => app.get('/')));
      await untilSlow(async () => (await count()) === 50);
      expect(await sampleOf(app, 'gatehouse_request_duration_seconds_count')).toBe(50);
      expect(await sampleOf(app, 'gatehouse_workers')).toBe(2);
      process.kill(app.workers()[0] ?? 0, 'SIGKILL');
      await untilSlow(async () => (await sampleOf(app, 'gatehouse_workers')) === 1);
      expect(await count()).toBe(50);
      await untilSlow(async () => (await sampleOf(app, 'gatehouse_workers')) === 2);
      await Promise.all(Array.from({ length: 10 }, () => app.get('/')));
      await untilSlow(async () => (await count()) === 60);
    },
    2 * SECONDS * 1000,
  );

  test(
    'that end soon after their start are restarted less and less often',
    async () => {
      const trouble = join(directory, 'crash-loop');
      const app = await runWorkerApp({ workers: 2, trouble });
      writeFileSync(`${trouble}-after-start`, '');
      process.kill(app.workers()[0] ?? 0, 'SIGKILL');
      const restarts = () =>
        app.lines('restarting a worker').map(({ time }) => Date.parse(`${time}`));
      await untilSlow(() => restarts().length >= 6);
      const [first = 0, second = 0] = restarts();
      const [fifth = 0, sixth = 0] = restarts().slice(4);
      // The first two delays are 100 ms and 200 ms. The fifth is 1600 ms.
      expect(sixth - fifth).toBeGreaterThan((second - first) * 1.2);
      expect(await app.get('/')).toContain('127.0.0.1');
      rmSync(`${trouble}-after-start`);
      await untilSlow(async () => (await readyState(app)) === '200 2 of 2');
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
      const reason = 'test-app did not start: Error: there is trouble';
      expect(app.output().split(reason).length).toBe(2);
      expect(app.output()).not.toContain('StartReportedError');
    },
    SECONDS * 1000,
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
    'CF-02 when %s, requests in flight get replies, and the exit code is 0',
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
    'CF-02 if the supervisor is killed, the workers answer requests in flight and end',
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
    'CF-03 a second signal ends all of them immediately',
    async () => {
      const app = await runWorkerApp({ workers: 2 });
      const workers = app.workers();
      const slow = Array.from({ length: 8 }, () => app.get('/slow'));
      await untilSlow(async () => (await sampleOf(app, 'gatehouse_requests_in_flight')) === 8);
      app.child.kill('SIGTERM');
      await untilSlow(async () => (await readyState(app)) === '503 draining');
      app.child.kill('SIGTERM');
      expect(await app.exit).toBe(1);
      await untilSlow(() => !workers.some(isAlive));
      expect(new Set(await Promise.all(slow))).toEqual(new Set(['ECONNRESET']));
    },
    SECONDS * 1000,
  );
});
