import { checkServerSettings, identityVariables } from '@gatehouse/identity';
import {
  addressList,
  baseUrl,
  commonVariables,
  createProblemCollector,
  type Environment,
  effectiveSettings,
  isLoopbackUrl,
  parseEnvironment,
  port,
  protectedUrl,
  rate,
  serverSettings,
  socketPath,
  wholeNumber,
} from '@gatehouse/server/configuration';
import { z } from 'zod';
import { loadRouting } from './routes/route-file.ts';

/** docs/configuration.md shows descriptions and defaults: npm run generate:docs. */
export const variables = z.object({
  ...commonVariables,
  ...identityVariables,
  GATEWAY_SOCKET: socketPath.optional().meta({
    description: 'Path of a [Unix socket](#unix-sockets) to listen on instead.',
    example: '/run/gatehouse/gateway.sock',
  }),
  GATEWAY_PORT: port.default(8844).describe('Port to listen on.'),
  GATEWAY_URL: protectedUrl.optional().meta({
    description:
      'Public URL, and issuer of internal tokens. The device service and the console need the same value.',
    default: '`http://localhost:` and the port',
    protects: true,
    example: 'http://localhost:8844',
  }),
  AUTHORIZATION_SERVER_URL: baseUrl.default('http://localhost:9000'),
  DEVICE_SERVICE_URL: baseUrl
    .default('http://localhost:8850')
    .describe(
      'Address at which the gateway and the console reach the device service. The console has no default.',
    ),
  DEVICE_SERVICE_SOCKET: socketPath.optional(),
  ROUTES_FILE: z.string().optional().meta({
    description: 'JSON file with [routes](routes.md) to your services.',
    default: 'none: the built-in routes',
    protects: true,
    example: './routes.json',
  }),
  CLIENT_RATE_LIMIT: rate.default({ requests: 1_200_000, windowSeconds: 60 }).meta({
    description: 'Requests per client, and seconds, across all gateways.',
    protects: true,
  }),
  ADDRESS_RATE_LIMIT: rate.default({ requests: 3000, windowSeconds: 60 }).meta({
    description:
      'Unverified requests per address, and seconds. See [Address limit](#address-limit).',
    protects: true,
  }),
  ACCESS_TOKEN_MAXIMUM_SECONDS: wholeNumber(1, 365 * 24 * 3600)
    .default(24 * 3600)
    .meta({
      description: 'Maximum lifetime of an `X-Access-Token`.',
      protects: true,
    }),
  TRUSTED_PROXIES: addressList.default([]).meta({
    description:
      'Addresses and CIDR ranges of [proxies in front](#trusted-proxies), separated by commas.',
    protects: true,
    example: '10.0.0.0/8',
  }),
  FORWARD_AUTH: z.enum(['true', 'false'], 'must be true or false').default('false').meta({
    description:
      '`true`: answer trusted proxies at `/_verify`. See [Forward auth](forward-auth.md).',
    protects: true,
  }),
  EXPLORER: z.enum(['true', 'false'], 'must be true or false').optional().meta({
    description: '`true`: serve the [API explorer](#api-explorer) at `/explorer`.',
    default: '`true` on loopback addresses, otherwise `false`',
    protects: true,
    example: 'false',
  }),
  SIGNATURE_TOLERANCE_SECONDS: wholeNumber(1, 3600).default(300).meta({
    description: 'Maximum difference between `X-Timestamp` and the clock, 1 to 3600.',
    protects: true,
  }),
});

/** They decide whether the gateway runs the embedded demo, and where it creates files. */
const indispensable = ['GATEWAY_URL', 'STORE_URL', 'DATA_DIR', 'BOOTSTRAP_FILE', 'MASTER_KEY_FILE'];

export type GatewayConfiguration = ReturnType<typeof loadConfiguration>;

/** @throws ConfigurationError with every problem at once */
export function loadConfiguration(environment: Environment) {
  const problems = createProblemCollector();
  const read = parseEnvironment(variables, environment, problems, indispensable);
  const publicUrl = read.GATEWAY_URL ?? `http://localhost:${read.GATEWAY_PORT}`;
  const { identity, bootstrap, dataDirectory, trustedProxies, warnings } = checkServerSettings(
    problems,
    environment,
    {
      ...{ read, publicUrl, gatewayUrl: publicUrl, bootstraps: true },
      sockets: ['GATEWAY_SOCKET', 'DEVICE_SERVICE_SOCKET'],
    },
  );
  const deviceService = { url: read.DEVICE_SERVICE_URL, socketPath: read.DEVICE_SERVICE_SOCKET };
  if (deviceService.socketPath !== undefined && !deviceService.url.startsWith('http://')) {
    // The gateway speaks no TLS over a Unix socket.
    const message = 'needs a DEVICE_SERVICE_URL that begins with http://';
    problems.add([{ name: 'DEVICE_SERVICE_SOCKET', message }]);
  }
  const readRouting = () => loadRouting(read.ROUTES_FILE, deviceService);
  const routing = problems.attempt(readRouting);
  const forwardAuth = read.FORWARD_AUTH === 'true';
  if (forwardAuth && trustedProxies.length === 0) {
    const message = 'needs TRUSTED_PROXIES: only these addresses may ask for verifications';
    problems.add([{ name: 'FORWARD_AUTH', message }]);
  }
  problems.throwIfAny();
  if (identity === undefined || routing === undefined) {
    throw new Error('A step of the configuration failed without a problem.');
  }
  return {
    ...serverSettings(read, read.GATEWAY_PORT, read.GATEWAY_SOCKET),
    dataDirectory,
    publicUrl,
    authorizationServerUrl: read.AUTHORIZATION_SERVER_URL,
    routing,
    /** Reads ROUTES_FILE again. */
    readRouting,
    clientRateLimit: read.CLIENT_RATE_LIMIT,
    addressRateLimit: read.ADDRESS_RATE_LIMIT,
    accessTokenMaximumSeconds: read.ACCESS_TOKEN_MAXIMUM_SECONDS,
    trustedProxies,
    forwardAuth,
    explorer: read.EXPLORER === undefined ? isLoopbackUrl(publicUrl) : read.EXPLORER === 'true',
    signatureToleranceMilliseconds: read.SIGNATURE_TOLERANCE_SECONDS * 1000,
    identity,
    bootstrap,
    /** For operators, without secrets. */
    settings: effectiveSettings(variables, environment),
    warnings,
  };
}
