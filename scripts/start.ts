/**
 * `npm start`: runs the four apps on embedded stores, and the demo application, until Ctrl-C. `npm
 * start -- --show` prints the addresses and commands again, and starts nothing.
 *
 * The apps are in this process group, so Ctrl-C reaches them directly. If this process ends in
 * another way, their IPC channels close and they stop. It never sends them signals.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { type Demo, readDemoIfPresent, readOrCreateDemo } from '@gatehouse/identity';
import { explainPortInUse, type RunningServer, serve } from '@gatehouse/server';
import {
  describeStartFailure,
  findMisspelledVariables,
  isLoopbackUrl,
} from '@gatehouse/server/configuration';
import { createApp as createDemoApplication } from '../examples/demo-application/app.ts';
import { startMessage } from './start-message.ts';

const root = join(import.meta.dirname, '..');
const apps = ['authorization-server', 'gateway', 'device-service', 'console'] as const;

const settings = readSettings();
if (process.argv.length > 2) {
  showAgain(process.argv.slice(2));
}
const demo = prepareDemo();
let isRunning = false;
let stopping = false;
let demoApplication: RunningServer | undefined;
const children = apps.map(startApp);

process.on('SIGINT', stopOnRequest);
process.on('SIGTERM', stopOnRequest);
if (process.send !== undefined) {
  process.on('disconnect', stopOnRequest);
}
for (const [index, child] of children.entries()) {
  child.once('exit', (code, signal) => {
    // An app that cannot start prints the reason itself.
    if (isRunning && !stopping) {
      console.error(
        `The ${apps[index]} ended unexpectedly (${signal ?? code}). Stopping the other apps.`,
      );
    }
    stop();
  });
}

const started = await Promise.all(children.map(becomesReady));
if (started.every(Boolean)) {
  isRunning = true;
  demoApplication = demo === undefined ? undefined : await startDemoApplication(demo);
  const data = demo === undefined ? '' : ` The data remains in ${settings.dataDirectory}.`;
  const demoState = demoApplication === undefined ? { demoApplication: 'not running' } : {};
  console.log(
    startMessage({
      ...settings,
      ...demoState,
      demo,
      closing: `Press Ctrl-C to stop.${data} To print this again: npm start -- --show`,
    }),
  );
} else {
  process.exitCode = 1;
  stop();
}

function readSettings() {
  const port = (name: string, fallback: number) => Number(process.env[name] || fallback);
  const url = (name: string, portNumber: number) =>
    process.env[name] || `http://localhost:${portNumber}`;
  const gatewayUrl = url('GATEWAY_URL', port('GATEWAY_PORT', 8844));
  const deviceServiceUrl = url('DEVICE_SERVICE_URL', port('DEVICE_SERVICE_PORT', 8850));
  return {
    embedded: !process.env.STORE_URL && !process.env.STORE_URL_FILE && !process.env.BOOTSTRAP_FILE,
    dataDirectory: process.env.DATA_DIR || './data',
    authorizationServerUrl: url(
      'AUTHORIZATION_SERVER_URL',
      port('AUTHORIZATION_SERVER_PORT', 9000),
    ),
    gatewayUrl,
    consoleUrl: url('CONSOLE_URL', port('AUTHORIZATION_SERVER_PORT', 9000) + 20),
    explorer: process.env.EXPLORER ? process.env.EXPLORER === 'true' : isLoopback(gatewayUrl),
    deviceServiceUrl,
    deviceService: `${process.env.DEVICE_SERVICE_SOCKET || deviceServiceUrl} (behind the gateway)`,
    // One more release reads DEMO_APPLICATION_PORT.
    redirectUri: `http://localhost:${port('DEMO_APPLICATION_PORT', port('AUTHORIZATION_SERVER_PORT', 9000) + 10)}/callback`,
  };
}

/** An invalid address is reported by the gateway. */
function isLoopback(address: string): boolean {
  return URL.canParse(address) && isLoopbackUrl(address);
}

/** Prints the message of the last start, also in a second terminal while Gatehouse runs. */
function showAgain(parameters: readonly string[]): never {
  if (parameters.join(' ') !== '--show') {
    console.error(`Unknown option: ${parameters.join(' ')}. Usage: npm start [-- --show]`);
    process.exit(2);
  }
  const { embedded, dataDirectory } = settings;
  const demo = embedded ? readDemoIfPresent(dataDirectory) : undefined;
  if (embedded && demo === undefined) {
    console.error(`There is no demo in ${dataDirectory}. Run npm start first.`);
    process.exit(1);
  }
  const heading = 'npm start runs Gatehouse at these addresses:';
  const closing = demo === undefined ? '' : `The data is in ${dataDirectory}.`;
  console.log(startMessage({ ...settings, heading, demo, closing }));
  process.exit(0);
}

/** With an invalid setting there is no demo. The apps report the setting. */
function prepareDemo(): Demo | undefined {
  const { embedded, authorizationServerUrl, dataDirectory, redirectUri } = settings;
  if (
    !embedded ||
    findMisspelledVariables(process.env).problems.length > 0 ||
    !isLoopback(authorizationServerUrl)
  ) {
    return undefined;
  }
  try {
    return readOrCreateDemo(dataDirectory, redirectUri);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    console.error(`Gatehouse cannot use the data folder ${dataDirectory}: ${reason}`);
    process.exit(1);
  }
}

function startApp(app: (typeof apps)[number]): ChildProcess {
  // The apps cannot share one OPERATIONS_PORT, so each uses its default.
  const { OPERATIONS_PORT: _shared, ...environment } = process.env;
  return spawn(process.execPath, ['--disable-sigusr1', join(root, 'apps', app, 'src', 'main.ts')], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    env: {
      ...environment,
      AUTHORIZATION_SERVER_URL: settings.authorizationServerUrl,
      GATEWAY_URL: settings.gatewayUrl,
      DEVICE_SERVICE_URL: settings.deviceServiceUrl,
      CONSOLE_URL: settings.consoleUrl,
    },
  });
}

async function becomesReady(child: ChildProcess): Promise<boolean> {
  const exit = once(child, 'exit').then(() => false);
  const ready = once(child, 'message').then(() => true);
  return Promise.race([exit, ready]);
}

/** Gatehouse also works without the demo application, so a port in use is not an error. */
async function startDemoApplication(values: Demo): Promise<RunningServer | undefined> {
  const listener = createDemoApplication({
    ...settings,
    ...values,
    issuer: settings.authorizationServerUrl,
  });
  const port = Number(new URL(values.redirectUri).port);
  try {
    const demoServer = serve(listener, { host: '127.0.0.1', port });
    return await demoServer.catch(explainPortInUse('AUTHORIZATION_SERVER_PORT'));
  } catch (error) {
    console.error(describeStartFailure('demo-application', error));
    return undefined;
  }
}

/** Ctrl-C can arrive as a signal and as a closed channel. */
function stopOnRequest(): void {
  if (!stopping) {
    console.log('Stopping Gatehouse …');
  }
  stop();
}

function stop(): void {
  if (stopping) {
    return;
  }
  stopping = true;
  const exits = children.map((child) =>
    child.exitCode === null && child.signalCode === null ? once(child, 'exit') : undefined,
  );
  for (const child of children) {
    if (child.connected) {
      child.disconnect();
    }
  }
  void Promise.all([...exits, demoApplication?.close()]).then(() => {
    const failed = children.some((child) => child.exitCode !== 0);
    if (failed && !isRunning) {
      console.error('Gatehouse did not start. The reasons are above.');
    }
    process.exit(process.exitCode ?? (failed ? 1 : 0));
  });
}
