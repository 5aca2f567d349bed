/**
 * `npm start`: the three apps on embedded stores, and a demo application to sign in to, until Ctrl-C.
 *
 * The children are in this process group: Ctrl-C reaches them by itself. Whatever else ends this process closes
 * their IPC channels, which ends them too; so they are never signalled from here.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { findMisspeltVariables, isLoopbackUrl } from '@gatehouse/configuration';
import { type RunningServer, serve } from '@gatehouse/http-server';
import { type Demo, readOrCreateDemo } from '@gatehouse/identity';
import { createApp as createDemoApplication } from '../apps/demo-application/src/app.ts';
import { startMessage } from './start-message.ts';

const root = join(import.meta.dirname, '..');
const apps = ['authorization-server', 'gateway', 'device-service'] as const;

const settings = readSettings();
const demo = prepareDemo();
let isRunning = false;
let stopping = false;
let demoApplication: RunningServer | undefined;
const children = apps.map(startApp);

process.on('SIGINT', stop);
process.on('SIGTERM', stop);
if (process.send !== undefined) {
  process.on('disconnect', stop);
}
for (const [index, child] of children.entries()) {
  child.once('exit', (code, signal) => {
    // One that refuses to start says why itself.
    if (isRunning && !stopping) {
      console.error(
        `The ${apps[index]} ended by itself (${signal ?? code}), so the others stop too.`,
      );
    }
    stop();
  });
}

const started = await Promise.all(children.map(becomesReady));
if (started.every(Boolean)) {
  isRunning = true;
  demoApplication = demo === undefined ? undefined : await startDemoApplication(demo);
  const stays = demo === undefined ? '' : ` The data stays in ${settings.dataDirectory}.`;
  console.log(
    startMessage({
      ...settings,
      deviceService: `${settings.deviceServiceUrl} (behind the gateway)`,
      demo,
      closing: `Ctrl-C stops everything.${stays}`,
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
  return {
    embedded: !process.env.STORE_URL && !process.env.STORE_URL_FILE && !process.env.BOOTSTRAP_FILE,
    dataDirectory: process.env.DATA_DIR || './data',
    authorizationServerUrl: url(
      'AUTHORIZATION_SERVER_URL',
      port('AUTHORIZATION_SERVER_PORT', 9000),
    ),
    gatewayUrl: url('GATEWAY_URL', port('GATEWAY_PORT', 8844)),
    deviceServiceUrl: url('DEVICE_SERVICE_URL', port('DEVICE_SERVICE_PORT', 8850)),
    redirectUri: `http://localhost:${port('DEMO_APPLICATION_PORT', 9010)}/callback`,
  };
}

/** What is wrong with an address or a name, the apps say themselves: here it only means that there is no demo. */
function prepareDemo(): Demo | undefined {
  const { embedded, authorizationServerUrl, dataDirectory, redirectUri } = settings;
  if (
    !embedded ||
    findMisspeltVariables(process.env).length > 0 ||
    !URL.canParse(authorizationServerUrl) ||
    !isLoopbackUrl(authorizationServerUrl)
  ) {
    return undefined;
  }
  try {
    return readOrCreateDemo(dataDirectory, redirectUri);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    console.error(`Gatehouse cannot start on the data in ${dataDirectory}:\n${reason}`);
    process.exit(1);
  }
}

function startApp(app: (typeof apps)[number]): ChildProcess {
  // One OPERATIONS_PORT cannot serve three apps: each takes its own default.
  const { OPERATIONS_PORT: _shared, ...environment } = process.env;
  return spawn(process.execPath, ['--disable-sigusr1', join(root, 'apps', app, 'src', 'main.ts')], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    env: {
      ...environment,
      AUTHORIZATION_SERVER_URL: settings.authorizationServerUrl,
      GATEWAY_URL: settings.gatewayUrl,
      DEVICE_SERVICE_URL: settings.deviceServiceUrl,
    },
  });
}

async function becomesReady(child: ChildProcess): Promise<boolean> {
  const exit = once(child, 'exit').then(() => false);
  const ready = once(child, 'message').then(() => true);
  return Promise.race([exit, ready]);
}

/** A convenience: where its port is taken, everything else still works. */
async function startDemoApplication(values: Demo): Promise<RunningServer | undefined> {
  const listener = createDemoApplication({ ...settings, ...values });
  const port = Number(new URL(values.redirectUri).port);
  try {
    return await serve(listener, { host: '127.0.0.1', port });
  } catch {
    console.error(`Port ${port} is taken: the demo application is not running.`);
    return undefined;
  }
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
    process.exit(process.exitCode ?? (failed ? 1 : 0));
  });
}
