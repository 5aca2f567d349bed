import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { errorCatalogue, type FailureReason, failureReasons } from '@gatehouse/errors';
import { freePort } from '../network/free-port.ts';
import { until } from '../until.ts';
import { type AppName, type AppProcess, startApp } from './app-process.ts';
import { type StoreEngine, type StoreEngineName, startStoreEngine } from './store-engine.ts';

export interface ConstellationOptions {
  /** A new store of this kind, or the given one. */
  readonly engine: StoreEngineName | StoreEngine;
  /** Content of the bootstrap file. */
  readonly bootstrap: unknown;
  /**
   * The apps to start, by default all. An app that is listed twice shares everything except the
   * port.
   */
  readonly apps?: readonly AppName[];
  readonly environment?: Readonly<Record<string, string>>;
  /** The root of the source tree of the first processes, by default of this one. */
  readonly source?: string;
}

/**
 * Apps in separate processes on free ports, with one store and the keys and files of a deployment.
 */
export type Constellation = Awaited<ReturnType<typeof startConstellation>>;

/** One app of a constellation. A restart keeps its ports. */
export type Member = Constellation['members'][number];

/** Servers buffer their log for up to 100 ms (packages/server). */
const LOG_COLLECTING_MILLISECONDS = 200;

const portVariables = {
  'authorization-server': 'AUTHORIZATION_SERVER_PORT',
  gateway: 'GATEWAY_PORT',
  'device-service': 'DEVICE_SERVICE_PORT',
  // CONSOLE_URL has the port, too.
  console: 'CONSOLE_URL',
} as const satisfies Record<AppName, string>;

export async function startConstellation(options: ConstellationOptions) {
  const { apps = ['authorization-server', 'gateway', 'device-service'], engine } = options;
  const directory = await mkdtemp(join(tmpdir(), 'gatehouse-'));
  const store = typeof engine === 'string' ? await startStoreEngine(engine) : engine;
  const places = await Promise.all(
    apps.map(async (app) => ({ app, port: await freePort(), operations: await freePort() })),
  );
  const portsOf = (app: AppName) => places.find((place) => place.app === app);
  const urlOf = (app: AppName) => `http://localhost:${portsOf(app)?.port ?? 0}`;
  const masterKey = randomBytes(32);
  const shared = {
    DATA_DIR: directory,
    STORE_URL: store.storeUrl,
    MASTER_KEY_FILE: await file(directory, 'master.key', masterKey.toString('hex')),
    BOOTSTRAP_FILE: await file(directory, 'bootstrap.json', JSON.stringify(options.bootstrap)),
    AUTHORIZATION_SERVER_URL: urlOf('authorization-server'),
    GATEWAY_URL: urlOf('gateway'),
    DEVICE_SERVICE_URL: urlOf('device-service').replace('localhost', '127.0.0.1'),
    GATEWAY_JWKS_URL: `http://127.0.0.1:${portsOf('gateway')?.operations ?? 0}/.well-known/jwks.json`,
    ...(apps.includes('console') && { CONSOLE_URL: urlOf('console') }),
    LOG_LEVEL: 'debug',
    ...options.environment,
  };
  const everything: AppProcess[] = [];
  const starts = await Promise.allSettled(
    places.map(async ({ app, port, operations }) => {
      const own = app === 'console' ? urlOf(app) : String(port);
      const ports = { [portVariables[app]]: own, OPERATIONS_PORT: String(operations) };
      const launch = async (other: object = {}, source?: string) => {
        const process = await startApp(app, { ...shared, ...ports, ...other }, source);
        everything.push(process);
        return process;
      };
      let process = await launch({}, options.source);
      return {
        app,
        url: `http://localhost:${port}`,
        /** Base URL of `/ready` and `/metrics`. */
        operationsUrl: `http://127.0.0.1:${operations}`,
        /** The current or last process. */
        get process() {
          return process;
        },
        /** Starts a new process, with these variables in addition. */
        async start(environment: Readonly<Record<string, string>> = {}) {
          process = await launch(environment);
        },
      };
    }),
  );
  const members = starts.flatMap((start) => (start.status === 'fulfilled' ? [start.value] : []));
  const stop = async () => {
    await Promise.all(everything.map((each) => each.stopWithoutDraining()));
    await store.stop();
    await rm(directory, { recursive: true, force: true });
  };
  const outputSoFar = () => everything.map((each) => each.output()).join('\n');
  const output = async () => {
    await sleep(LOG_COLLECTING_MILLISECONDS);
    return outputSoFar();
  };
  const failure = starts.find((start) => start.status === 'rejected');
  if (failure !== undefined) {
    await stop();
    throw failure.reason;
  }
  return {
    authorizationServerUrl: urlOf('authorization-server'),
    /** All authorization servers. They share the issuer of the first one. */
    authorizationServerUrls: members
      .filter(({ app }) => app === 'authorization-server')
      .map(({ url }) => url),
    gatewayUrl: urlOf('gateway'),
    deviceServiceUrl: urlOf('device-service'),
    consoleUrl: urlOf('console'),
    storeUrl: store.storeUrl,
    masterKey,
    /** Variables of the commands of operators. */
    commandEnvironment: {
      STORE_URL: shared.STORE_URL,
      MASTER_KEY_FILE: shared.MASTER_KEY_FILE,
      DATA_DIR: directory,
    },
    /** Each app, in the requested order. */
    members,
    /** The first member of the app. */
    member(app: AppName) {
      const found = members.find((each) => each.app === app);
      if (found === undefined) {
        throw new Error(`No ${app} runs.`);
      }
      return found;
    },
    get processes() {
      return members.map((member) => member.process);
    },
    /** All data of the store. */
    storedText: store.storedText,
    /** The output of all apps so far, including lines that a process still buffers. */
    output,
    /** The output, once it contains this. */
    async outputWith(expected: string | RegExp) {
      await until(() => outputSoFar().match(expected) !== null);
      return output();
    },
    async stop() {
      await stop();
      assertReasons(outputSoFar());
    },
  };
}

async function file(directory: string, name: string, content: string): Promise<string> {
  const path = join(directory, name);
  await writeFile(path, content, { mode: 0o600 });
  return path;
}

const reasons: ReadonlyMap<string, FailureReason> = new Map(Object.entries(failureReasons));
/** Reasons of all apps. */
const shared = new Set([
  ...Object.keys(errorCatalogue),
  ...['store_unavailable', 'unexpected_error', 'http_invalid', 'target_invalid'],
]);

/**
 * Every failed request to the authorization server has a reason that can have its code. Each suite
 * checks this for the requests that it sent.
 */
function assertReasons(log: string): void {
  const wrong = new Set(
    log.split('\n').filter((text) => {
      // A killed process can leave half a line.
      if (!/^\{"level".*"app":"authorization-server".*\}$/.test(text)) {
        return false;
      }
      const { status = 0, aborted = false, code, reason = '' } = JSON.parse(text);
      const hasFailed = status >= 400 || code !== undefined;
      return (
        hasFailed && !aborted && !shared.has(reason) && !reasons.get(reason)?.codes.includes(code)
      );
    }),
  );
  if (wrong.size > 0) {
    throw new Error(`Failed requests without a suitable reason:\n${[...wrong].join('\n')}`);
  }
}
