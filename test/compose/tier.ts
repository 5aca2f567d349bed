import { execFile } from 'node:child_process';
import { randomBytes, randomInt } from 'node:crypto';
import { promisify } from 'node:util';
import { freePort } from '@gatehouse/testing';
import { root } from '../source-tree.ts';

const run = promisify(execFile);
const MAXIMUM_OUTPUT = 64 * 1024 * 1024;

export interface TierOptions {
  readonly profiles?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
}

/** The members of `docker inspect` that tests use. */
export interface Container {
  readonly Id: string;
  readonly Name: string;
  readonly State: {
    readonly Status: string;
    readonly Health?: { readonly Status: string; readonly FailingStreak: number };
  };
  readonly RestartCount: number;
  readonly Config: {
    readonly User: string;
    readonly Entrypoint: readonly string[] | null;
    readonly Labels: Readonly<Record<string, string>>;
    readonly Healthcheck?: { readonly Test: readonly string[] };
    readonly StopTimeout?: number;
  };
  readonly HostConfig: Readonly<Record<string, unknown>>;
  readonly Mounts: readonly {
    readonly Name?: string;
    readonly Destination: string;
    readonly RW: boolean;
  }[];
  readonly NetworkSettings: {
    readonly Networks: Readonly<Record<string, { readonly IPAddress: string }>>;
    readonly Ports: Readonly<
      Record<string, readonly { readonly HostIp: string; readonly HostPort: string }[] | null>
    >;
  };
}

/**
 * The compose file under a separate project name, with separate ports and networks, used as by an
 * operator.
 */
export interface Tier {
  readonly project: string;
  /** The variables with which other shell commands can use this tier. */
  readonly environment: NodeJS.ProcessEnv;
  readonly authorizationServerUrl: string;
  readonly gatewayUrl: string;
  /** Runs `docker compose …`. Resolves to the standard output, or rejects with all output. */
  compose(...words: readonly string[]): Promise<string>;
  /** Runs `up --detach --wait`. Resolves to the milliseconds until all containers are healthy. */
  up(): Promise<number>;
  /** Runs a command for operators, and resolves to its JSON output. */
  gatehouse(...words: readonly string[]): Promise<unknown>;
  /** Runs JavaScript in a running container of the tier. */
  node(service: string, script: string): Promise<string>;
  /** Runs a service once, without the services that it needs. */
  runOnce(...words: readonly string[]): Promise<string>;
  /** Runs a program in a running container of the tier. */
  exec(service: string, ...words: readonly string[]): Promise<string>;
  containers(): Promise<readonly Container[]>;
  /** @throws Error if the service has none */
  container(service: string): Promise<Container>;
  /** Removes all containers, networks and volumes. */
  remove(): Promise<void>;
}

export async function docker(...words: readonly string[]): Promise<string> {
  return (await run('docker', words, { maxBuffer: MAXIMUM_OUTPUT })).stdout;
}

export function serviceOf(container: Container): string {
  return container.Config.Labels['com.docker.compose.service'] ?? '';
}

export async function createTier(options: TierOptions = {}): Promise<Tier> {
  const project = `gatehouse-test-${randomBytes(4).toString('hex')}`;
  const ports = {
    AUTHORIZATION_SERVER_PORT: String(await freePort()),
    GATEWAY_PORT: String(await freePort()),
    DEMO_APPLICATION_PORT: String(await freePort()),
  };
  const environment = {
    ...process.env,
    ...ports,
    COMPOSE_PROJECT_NAME: project,
    COMPOSE_PROFILES: (options.profiles ?? []).join(','),
    GATEHOUSE_IMAGE: 'gatehouse:test',
    EDGE_NETWORK: `10.${randomInt(64, 250)}.${randomInt(250)}`,
    ...options.environment,
  };

  async function compose(...words: readonly string[]): Promise<string> {
    const settings = { cwd: root, env: environment, maxBuffer: MAXIMUM_OUTPUT };
    return (await run('docker', ['compose', '--progress', 'quiet', ...words], settings)).stdout;
  }

  const runOnce = (...words: readonly string[]) =>
    compose('run', '--rm', '-T', '--no-deps', ...words);
  const exec = (...words: readonly string[]) => compose('exec', '-T', ...words);
  async function containers() {
    const ids = (await compose('ps', '--all', '--quiet')).split('\n').filter(Boolean);
    return ids.length === 0 ? [] : (JSON.parse(await docker('inspect', ...ids)) as Container[]);
  }

  return {
    project,
    environment,
    authorizationServerUrl: `http://localhost:${ports.AUTHORIZATION_SERVER_PORT}`,
    gatewayUrl: `http://localhost:${ports.GATEWAY_PORT}`,
    compose,
    async up() {
      const begun = performance.now();
      await compose('up', '--detach', '--wait', '--no-build');
      return Math.round(performance.now() - begun);
    },
    gatehouse: async (...words) => JSON.parse(await runOnce('gatehouse', ...words, '--json')),
    node: (service, script) => exec(service, 'node', '-e', script),
    runOnce,
    exec,
    containers,
    async container(service) {
      const found = (await containers()).find((each) => serviceOf(each) === service);
      if (found === undefined) {
        throw new Error(`There is no container of ${service}.`);
      }
      return found;
    },
    async remove() {
      await compose('--profile', '*', 'down', '--volumes', '--timeout', '3');
    },
  };
}
