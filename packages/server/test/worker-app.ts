/**
 * A small app for tests, with workers: `node worker-app.ts '<options>'`. It logs where it listens.
 */
import { existsSync } from 'node:fs';
import {
  addProcessMetrics,
  createMetricsRegistry,
  createRequestMetrics,
  observedRequest,
  observeRequests,
  runApp,
} from '../src/index.ts';
import type { WorkerAppOptions } from './run-worker-app.ts';

const options = JSON.parse(process.argv[2] ?? '{}') as WorkerAppOptions;

await runApp({
  name: 'test-app',
  portVariable: 'TEST_PORT',
  loadConfiguration: () => ({
    host: '127.0.0.1',
    port: 0,
    socketPath: undefined,
    operationsPort: 0,
    shutdownDelayMilliseconds: 0,
    maximumConnections: 1000,
    logLevel: 'info',
    warnings: ['a warning of the configuration'],
    ...options,
  }),
  async start(_configuration, logger) {
    if (existsSync(`${options.trouble}`)) {
      throw new Error('there is trouble');
    }
    if (existsSync(`${options.trouble}-signal`)) {
      process.kill(process.pid, 'SIGKILL');
    }
    if (existsSync(`${options.trouble}-after-start`)) {
      setTimeout(() => process.exit(9), 20);
    }
    const metrics = createMetricsRegistry();
    addProcessMetrics(metrics, { app: 'test-app' });
    const observer = createRequestMetrics(metrics, {
      operations: ['any'],
      credentials: [],
      codes: [],
    });
    return {
      listener: observeRequests(
        (request, response) => {
          observedRequest(request).notes.operation = 'any';
          const answer = () => response.end(`${process.pid} ${request.socket.remoteAddress}`);
          if (request.url === '/slow') {
            setTimeout(answer, 2000);
          } else if (request.url === '/log') {
            for (let line = 0; line < 2000; line += 1) {
              logger.info({ text: 'x'.repeat(200 + (line % 300)) }, 'a line');
            }
            answer();
          } else {
            answer();
          }
        },
        logger,
        { observer },
      ),
      metrics,
      checks: { self: async () => undefined },
      documents: { '/document': async () => ({ of: 'a worker' }) },
      release: async () => undefined,
    };
  },
});
