import { checkServerSettings, identityVariables } from '@gatehouse/identity';
import {
  addressList,
  baseUrl,
  ConfigurationError,
  commonVariables,
  createProblemCollector,
  type Environment,
  effectiveSettings,
  isLoopbackUrl,
  parseEnvironment,
  port,
  protectedUrl,
  serverSettings,
  socketPath,
} from '@gatehouse/server/configuration';
import { z } from 'zod';

/** docs/configuration.md shows descriptions and defaults: npm run generate:docs. */
export const variables = z.object({
  ...commonVariables,
  ...identityVariables,
  CONSOLE_SOCKET: socketPath.optional().meta({
    description: 'Path of a [Unix socket](#unix-sockets) to listen on instead.',
    example: '/run/gatehouse/console.sock',
  }),
  AUTHORIZATION_SERVER_PORT: port.default(9000),
  AUTHORIZATION_SERVER_URL: protectedUrl.optional(),
  AUTHORIZATION_SERVER_INTERNAL_URL: baseUrl.optional().meta({
    description: 'Where the console reaches the authorization server.',
    default: '`AUTHORIZATION_SERVER_URL`',
    protects: true,
    example: 'http://authorization-server:9000',
  }),
  TRUSTED_PROXIES: addressList.default([]),
  GATEWAY_PORT: port.default(8844),
  GATEWAY_URL: baseUrl.optional(),
  EXPLORER: z.enum(['true', 'false'], 'must be true or false').optional(),
  DEVICE_SERVICE_URL: baseUrl.optional(),
  DEVICE_SERVICE_SOCKET: socketPath.optional(),
});

/** Where it listens if CONSOLE_URL is that of a proxy. */
const DEFAULT_PORT = 9020;

/** They decide whether the console runs on the embedded store, and where that is. */
const indispensable = ['CONSOLE_URL', 'STORE_URL', 'DATA_DIR', 'MASTER_KEY_FILE'];

export type Configuration = ReturnType<typeof loadConfiguration>;

/** @throws ConfigurationError with every problem at once */
export function loadConfiguration(environment: Environment) {
  const problems = createProblemCollector();
  const read = parseEnvironment(variables, environment, problems, indispensable);
  const consoleUrl = read.CONSOLE_URL ?? `http://localhost:${DEFAULT_PORT}`;
  if (read.CONSOLE_URL === undefined) {
    const message = 'is required, with the same value at every server';
    problems.add([{ name: 'CONSOLE_URL', message }]);
  }
  const issuer =
    read.AUTHORIZATION_SERVER_URL ?? `http://localhost:${read.AUTHORIZATION_SERVER_PORT}`;
  const { identity, trustedProxies, warnings } = checkServerSettings(problems, environment, {
    ...{ read, publicUrl: consoleUrl, bootstraps: false },
    sockets: ['CONSOLE_SOCKET', 'DEVICE_SERVICE_SOCKET'],
  });
  problems.throwIfAny();
  if (identity === undefined) {
    throw new ConfigurationError([]);
  }
  return {
    ...serverSettings(read, portOf(consoleUrl), read.CONSOLE_SOCKET),
    issuer,
    internalUrl: read.AUTHORIZATION_SERVER_INTERNAL_URL ?? issuer,
    consoleUrl,
    trustedProxies,
    ...gatewayOf(read),
    /** For operators. */
    settings: effectiveSettings(variables, environment),
    identity,
    warnings,
  };
}

/** Where the console reads devices, and where the gateway has its explorer. Undefined: not at all. */
function gatewayOf(read: z.output<typeof variables>) {
  const gatewayUrl = read.GATEWAY_URL ?? `http://localhost:${read.GATEWAY_PORT}`;
  const { DEVICE_SERVICE_SOCKET: socketPath } = read;
  const url = socketPath === undefined ? read.DEVICE_SERVICE_URL : 'http://localhost';
  const hasExplorer =
    read.EXPLORER === undefined ? isLoopbackUrl(gatewayUrl) : read.EXPLORER === 'true';
  return {
    explorerUrl: hasExplorer ? `${gatewayUrl}/explorer` : undefined,
    deviceService: url === undefined ? undefined : { url, socketPath, gatewayUrl },
  };
}

/** Without a proxy in front, the address names the port. */
function portOf(consoleUrl: string): number {
  const { port: named, protocol } = new URL(consoleUrl);
  return isLoopbackUrl(consoleUrl) && protocol === 'http:' ? Number(named || 80) : DEFAULT_PORT;
}
