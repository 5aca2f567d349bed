import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import {
  type BootstrapDefinition,
  bootstrapDefinition,
  type IdentitySettings,
  identitySecretFiles,
  identityVariables,
  productionProblems,
  resolveIdentitySettings,
} from '@gatehouse/identity';
import {
  addressList,
  baseUrl,
  ConfigurationError,
  commonVariables,
  createProblemCollector,
  debuggingProblems,
  type Environment,
  findMisspelledVariables,
  inspectFileAccess,
  isLoopbackUrl,
  operationsPortOf,
  operationsPortRule,
  port,
  readOrCreateSecretFile,
  readValidVariables,
  secretFilesOf,
  socketPath,
} from '@gatehouse/server/configuration';
import { z } from 'zod';
import {
  DEFAULT_CLIENT_REQUESTS_PER_MINUTE,
  DEFAULT_PAGE_REQUESTS_PER_MINUTE,
} from './throttle/limits.ts';

const requestsPerMinute = z
  .string()
  .regex(/^[1-9]\d{0,6}$/, 'must be a whole number from 1 to 9999999')
  .transform(Number);

/** docs/configuration.md shows descriptions and defaults: npm run generate:docs. */
export const variables = z
  .object({
    ...commonVariables,
    ...identityVariables,
    AUTHORIZATION_SERVER_SOCKET: socketPath
      .optional()
      .describe('Path of a [Unix socket](#unix-sockets) to listen on instead.'),
    AUTHORIZATION_SERVER_PORT: port.default(9000).describe('Port to listen on.'),
    AUTHORIZATION_SERVER_URL: baseUrl.optional().meta({
      description: 'Public URL and issuer. Must be https unless it is a loopback address.',
      default: '`http://localhost:` and the port',
    }),
    COOKIE_KEYS_FILE: z.string().optional().meta({
      description: 'File of [cookie keys](#cookie-keys). Required with `STORE_URL`.',
      default: 'generated in `DATA_DIR`',
    }),
    TRUSTED_PROXIES: addressList.optional(),
    CLIENT_REQUESTS_PER_MINUTE: requestsPerMinute
      .default(DEFAULT_CLIENT_REQUESTS_PER_MINUTE)
      .describe('[Rate limit](#rate-limits) of the client endpoints, by address group.'),
    PAGE_REQUESTS_PER_MINUTE: requestsPerMinute
      .default(DEFAULT_PAGE_REQUESTS_PER_MINUTE)
      .describe('[Rate limit](#rate-limits) of the pages, by address group.'),
  })
  .refine(...operationsPortRule('AUTHORIZATION_SERVER_PORT'));

/** These decide whether this is the embedded demo, and where it creates its files. */
const indispensable = [
  'AUTHORIZATION_SERVER_URL',
  'STORE_URL',
  'DATA_DIR',
  'BOOTSTRAP_FILE',
  'MASTER_KEY_FILE',
  'COOKIE_KEYS_FILE',
];

export interface Configuration {
  readonly host: string;
  readonly port: number;
  /** Path of a Unix socket to serve on, instead of host and port. */
  readonly socketPath: string | undefined;
  readonly operationsPort: number;
  readonly dataDirectory: string;
  readonly logLevel: string;
  /** How long it still accepts connections after it reported that it is not ready. */
  readonly shutdownDelayMilliseconds: number;
  readonly maximumConnections: number;
  /** Processes that serve requests. */
  readonly workers: number;
  /** The public address; every URL the server produces starts with it. */
  readonly issuer: string;
  readonly identity: IdentitySettings;
  /** The first key signs the browser's cookies. All of them verify. */
  readonly cookieKeys: readonly string[];
  readonly trustedProxies: readonly string[];
  /** The records that the start writes to the store. */
  readonly bootstrap: BootstrapDefinition | undefined;
  /** From one address group, to the endpoints that clients call. */
  readonly clientRequestsPerMinute: number;
  /** From one address group, to the pages. */
  readonly pageRequestsPerMinute: number;
  /** For the log. */
  readonly warnings: readonly string[];
}

/** @throws ConfigurationError with every problem at once */
export function loadConfiguration(environment: Environment): Configuration {
  const problems = createProblemCollector();
  const read = readValidVariables(variables, environment, problems, indispensable);
  const { DATA_DIR: dataDirectory, TRUSTED_PROXIES: trustedProxies = [] } = read;
  const issuer =
    read.AUTHORIZATION_SERVER_URL ?? `http://localhost:${read.AUTHORIZATION_SERVER_PORT}`;
  if (!isLoopbackUrl(issuer) && !issuer.startsWith('https:')) {
    const message = 'must be https unless it is a loopback address';
    problems.add([{ name: 'AUTHORIZATION_SERVER_URL', message }]);
  }
  const embedded = read.STORE_URL === undefined;
  const { problems: exposed, warnings } = inspectFileAccess({
    files: [
      ...identitySecretFiles(environment),
      ...secretFilesOf(environment, ['COOKIE_KEYS_FILE']),
    ],
    sockets: secretFilesOf(environment, ['AUTHORIZATION_SERVER_SOCKET']),
    dataDirectory: embedded ? dataDirectory : undefined,
    publicUrl: issuer,
  });
  problems.add(exposed);
  const identity = problems.attempt(() => resolveIdentitySettings(read));
  const cookieKeys = problems.attempt(() =>
    loadCookieKeys(read.COOKIE_KEYS_FILE, dataDirectory, embedded),
  );
  const bootstrap = problems.attempt(() =>
    bootstrapDefinition({
      bootstrapFile: read.BOOTSTRAP_FILE,
      dataDirectory,
      embedded,
      publicUrl: issuer,
    }),
  );
  const masterKey = identity?.masterKey;
  const subject = { publicUrl: issuer, dataDirectory, masterKey, cookieKeys, trustedProxies };
  problems.add(productionProblems({ ...subject, bootstrap }));
  problems.add(debuggingProblems(issuer, environment));
  problems.throwIfAny();
  if (identity === undefined || cookieKeys === undefined) {
    throw new Error('A step of the configuration failed without a problem.');
  }
  return {
    host: read.HOST,
    port: read.AUTHORIZATION_SERVER_PORT,
    socketPath: read.AUTHORIZATION_SERVER_SOCKET,
    operationsPort: read.OPERATIONS_PORT ?? operationsPortOf(read.AUTHORIZATION_SERVER_PORT),
    dataDirectory,
    logLevel: read.LOG_LEVEL,
    shutdownDelayMilliseconds: read.SHUTDOWN_DELAY_SECONDS * 1000,
    maximumConnections: read.MAXIMUM_CONNECTIONS,
    workers: read.WORKERS,
    issuer,
    identity,
    cookieKeys,
    trustedProxies,
    bootstrap,
    clientRequestsPerMinute: read.CLIENT_REQUESTS_PER_MINUTE,
    pageRequestsPerMinute: read.PAGE_REQUESTS_PER_MINUTE,
    warnings: [...findMisspelledVariables(environment).warnings, ...warnings],
  };
}

/** One key a line, newest first, so that a rotation signs out no user. */
function loadCookieKeys(
  file: string | undefined,
  dataDirectory: string,
  embedded: boolean,
): readonly string[] {
  if (file === undefined && !embedded) {
    throw new ConfigurationError([
      { name: 'COOKIE_KEYS_FILE', message: 'is required when STORE_URL is set' },
    ]);
  }
  const path = file ?? join(dataDirectory, 'cookie.keys');
  const text = readOrCreateSecretFile(path, () => {
    if (file !== undefined) {
      throw new ConfigurationError([{ name: 'COOKIE_KEYS_FILE', message: 'the file is missing' }]);
    }
    return `${randomBytes(32).toString('hex')}\n`;
  });
  const keys = text.split(/\s+/).filter((key) => key !== '');
  if (keys.length === 0 || keys.some((key) => key.length < 32)) {
    throw new ConfigurationError([
      {
        name: 'COOKIE_KEYS_FILE',
        message: 'the file must hold keys of 32 or more characters, one a line',
      },
    ]);
  }
  return keys;
}
