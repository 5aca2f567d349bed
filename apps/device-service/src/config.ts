import { join } from 'node:path';
import {
  baseUrl,
  commonVariables,
  createProblemCollector,
  type Environment,
  findMisspelledVariables,
  inspectFileAccess,
  operationsPortOf,
  parseEnvironment,
  port,
  secretFilesOf,
  serverSettings,
  socketPath,
  wholeNumber,
} from '@gatehouse/server/configuration';
import { z } from 'zod';
import { type DatabaseLocation, parseDatabaseUrl } from './database/database-url.ts';

export type DeviceServiceConfiguration = ReturnType<typeof readConfiguration>;

/** docs/configuration.md shows descriptions and defaults: npm run generate:docs. */
export const variables = z.object({
  ...commonVariables,
  DEVICE_SERVICE_PORT: port.default(8850).describe('Port to listen on.'),
  DEVICE_SERVICE_SOCKET: socketPath.optional().meta({
    description:
      'Path of a [Unix socket](#unix-sockets) that replaces the port. Set it for the gateway and the console, too.',
    example: '/run/gatehouse/device-service.sock',
  }),
  GATEWAY_PORT: port.default(8844),
  GATEWAY_URL: baseUrl.optional(),
  GATEWAY_JWKS_URL: z
    .url({ protocol: /^https?$/, error: 'must be an http(s) address' })
    .optional()
    .meta({
      description: 'Public keys for internal tokens.',
      default: "the gateway's operations port on this machine",
      protects: true,
      example: 'http://127.0.0.1:8944/.well-known/jwks.json',
    }),
  DATABASE_URL: z.string().transform(toDatabaseLocation).optional().meta({
    description:
      '`sqlite:path`, or `postgres://user:password@host:port/database`. For failover, [list several](operations/deploy.md#use-your-own-postgresql) `host:port`. Or its file in `DATABASE_URL_FILE`.',
    default: 'a SQLite file in `DATA_DIR`',
    secret: true,
    example: 'sqlite:./data/devices.sqlite',
  }),
  LOG_RETENTION_DAYS: wholeNumber(1, 3650).default(30).meta({
    description: 'Age at which device log records are deleted, 1 to 3650 days.',
    protects: true,
  }),
  BOOTSTRAP_FILE: z.string().optional(),
});

/** They decide which rules apply, and where the service creates its files. */
const indispensable = ['GATEWAY_URL', 'DATABASE_URL', 'DATA_DIR'];

/** @throws ConfigurationError that lists every problem */
export function readConfiguration(environment: Environment) {
  const problems = createProblemCollector();
  const set = parseEnvironment(variables, environment, problems, indispensable);
  const gatewayUrl = set.GATEWAY_URL ?? `http://localhost:${set.GATEWAY_PORT}`;
  const { problems: exposed, warnings } = inspectFileAccess({
    files: secretFilesOf(environment, ['DATABASE_URL_FILE']),
    sockets: secretFilesOf(environment, ['DEVICE_SERVICE_SOCKET']),
    dataDirectory: set.DATABASE_URL === undefined ? set.DATA_DIR : undefined,
    publicUrl: gatewayUrl,
  });
  problems.add(exposed);
  problems.throwIfAny();
  const database: DatabaseLocation = set.DATABASE_URL ?? {
    engine: 'sqlite',
    path: join(set.DATA_DIR, 'devices.sqlite'),
  };
  return {
    ...serverSettings(set, set.DEVICE_SERVICE_PORT, set.DEVICE_SERVICE_SOCKET),
    database,
    /** Log records expire this long after they are stored. */
    logRetentionDays: set.LOG_RETENTION_DAYS,
    /** The issuer of the internal tokens. */
    gatewayUrl,
    gatewayJwksUrl:
      set.GATEWAY_JWKS_URL ??
      `http://127.0.0.1:${operationsPortOf(set.GATEWAY_PORT)}/.well-known/jwks.json`,
    /** Without DATABASE_URL and BOOTSTRAP_FILE, a new database gets a demo device. */
    demo: set.DATABASE_URL === undefined && set.BOOTSTRAP_FILE === undefined,
    warnings: [...findMisspelledVariables(environment).warnings, ...warnings],
  };
}

function toDatabaseLocation(url: string, context: z.RefinementCtx): DatabaseLocation {
  const parsed = parseDatabaseUrl(url);
  if ('problem' in parsed) {
    context.addIssue({ code: 'custom', message: parsed.problem });
    return z.NEVER;
  }
  return parsed;
}
