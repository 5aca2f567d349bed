/**
 * A separate process for tests: `node server-process.ts <mode>`. Prints its port on the first line
 * of stdout.
 */
import {
  createLogger,
  deferListener,
  observedRequest,
  observeRequests,
  runProcess,
  serve,
} from '../src/index.ts';
import { exitOnUnhandledErrors, type RunningApp } from '../src/process/run-process.ts';

const mode = process.argv[2] ?? '';
const logger = createLogger({ app: 'test-app', level: 'debug' });
exitOnUnhandledErrors(logger);

await runProcess('test-app', start, mode === 'close hangs' ? 600 : undefined);
say('running');

async function start(): Promise<RunningApp> {
  switch (mode) {
    case 'refused':
      throw new Error('GATEWAY_PORT: must be a port number\nSTORE_URL: is missing');
    case 'close fails':
      return { ...(await startServer()), close: () => Promise.reject(new Error('stuck')) };
    case 'close hangs':
      return { ...(await startServer()), close: () => new Promise(() => undefined) };
    case 'fails later':
      return startDeferred(['away', 'away', 'wrong configuration']);
    case 'patient':
      return startServer(8000);
    case 'overloaded':
      return startServer(8000, 40);
    default:
      return startServer();
  }
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** @param busyMilliseconds processor time of every request */
async function startServer(drainMilliseconds = 400, busyMilliseconds = 0): Promise<RunningApp> {
  const server = await serve(
    observeRequests((request, response) => {
      const { notes } = observedRequest(request);
      const path = request.url?.split('?', 1)[0] ?? '';
      say(`asked ${path}`);
      for (const begun = performance.now(); performance.now() - begun < busyMilliseconds; );
      notes.operation = path === '/' ? 'root' : path.slice(1);
      if (path === '/slow') {
        setTimeout(() => response.end('slow'), 300);
      } else if (path === '/crash') {
        setTimeout(() => {
          throw new Error('crash at redis://:marker@host');
        }, 10);
      } else if (path === '/rejection') {
        void Promise.reject(new Error('rejected at redis://:marker@host'));
      } else if (path !== '/hang') {
        response.end('done');
      }
    }, logger),
    { host: '127.0.0.1', port: 0, drainMilliseconds },
  );
  say(`port ${server.port}`);
  return { close: () => server.close() };
}

async function startDeferred(failures: string[]): Promise<RunningApp> {
  setInterval(() => undefined, 1000);
  const deferred = await deferListener(
    async () => {
      throw new Error(failures.shift() ?? 'no more');
    },
    (error) => error instanceof Error && error.message === 'away',
  );
  return {
    async close() {
      deferred.close();
    },
  };
}
