/**
 * Examines an installation as its servers, its clients and an attacker see it.
 *
 *   environment ─▶ files, store (clients, keys), apps of this machine, public servers ─▶ findings
 *
 * A check reads, and changes nothing. Only `--fix` corrects the modes of files that Gatehouse
 * created. A check runs although others fail, so that one run shows everything.
 */
import { existsSync } from 'node:fs';
import { type Identity, identitySecretFiles } from '@gatehouse/identity';
import { errorsFirst, examineRecords, examineStore as examineRoom } from '@gatehouse/operators';
import {
  baseUrl,
  ConfigurationError,
  commonVariables,
  type Environment,
  findMisspelledVariables,
  inspectFileAccess,
  isLoopbackUrl,
  operationsPortOf,
  parseEnvironment,
  port,
  secretFilesOf,
} from '@gatehouse/server/configuration';
import { StoreFullError, StoreUnavailableError } from '@gatehouse/store';
import { z } from 'zod';
import { type Command, type CommandInput, UsageError } from '../command-line/command.ts';
import { openIdentityStore, variables } from '../open-identity-store.ts';
import {
  checkApp,
  checkClock,
  checkForwarding,
  checkPublicServer,
  type PublicServer,
} from './check-servers.ts';
import { describeFindings, type Finding, type FindingId, finding } from './findings.ts';

const schema = variables.extend({
  OPERATIONS_PORT: commonVariables.OPERATIONS_PORT,
  AUTHORIZATION_SERVER_PORT: port.default(9000),
  AUTHORIZATION_SERVER_URL: baseUrl.optional(),
  GATEWAY_PORT: port.default(8844),
  GATEWAY_URL: baseUrl.optional(),
  DEVICE_SERVICE_PORT: port.default(8850),
  DATABASE_URL: z.string().optional(),
});

type Variables = z.infer<typeof schema>;

export const doctorCommand: Command = {
  usage: 'doctor',
  summary: 'Examine configuration, files, store, clients, clocks, and servers as clients see them.',
  options: {
    addresses: 'Examine only the public addresses. Needs no store.',
    fix: "Remove other users' access to files that Gatehouse created.",
    'fail <severity>': 'Lowest severity with exit code 1: error (default) or warning.',
  },
  notes: ['Run it with the environment of the servers. It sends requests to their addresses.'],
  example: '--fail warning',
  async runOffline({ options }, { environment }) {
    const lowest = options.fail ?? 'error';
    if (lowest !== 'error' && lowest !== 'warning') {
      throw new UsageError('--fail must be error or warning.');
    }
    const findings = errorsFirst(await examine(environment, options));
    return {
      json: { findings },
      text: describeFindings(findings),
      isFailure: findings.some(({ severity }) => severity === 'error' || severity === lowest),
    };
  },
};

async function examine(
  environment: Environment,
  { addresses, fix }: CommandInput['options'],
): Promise<readonly Finding[]> {
  let read: Variables;
  try {
    read = parseEnvironment(schema, environment);
  } catch (error) {
    return configurationFindings('variable_invalid', error);
  }
  const { AUTHORIZATION_SERVER_URL, GATEWAY_URL } = read;
  const servers: readonly PublicServer[] = [
    {
      name: 'authorization server',
      variable: 'AUTHORIZATION_SERVER_URL',
      url: AUTHORIZATION_SERVER_URL ?? `http://localhost:${read.AUTHORIZATION_SERVER_PORT}`,
    },
    {
      name: 'gateway',
      variable: 'GATEWAY_URL',
      url: GATEWAY_URL ?? `http://localhost:${read.GATEWAY_PORT}`,
    },
  ];
  const checks = servers.map(checkPublicServer);
  if (addresses !== true) {
    checks.push(
      checkVariables(environment, servers),
      checkFiles(environment, read, fix === true),
      examineStore(environment, read, servers),
      ...operationsPorts(read).map(([name, at]) => checkApp(name, at)),
    );
  }
  return (await Promise.all(checks)).flat();
}

/** The operations ports of the apps on this machine. */
function operationsPorts(variables: Variables): readonly (readonly [name: string, port: number])[] {
  return variables.OPERATIONS_PORT === undefined
    ? [
        ['authorization server', operationsPortOf(variables.AUTHORIZATION_SERVER_PORT)],
        ['gateway', operationsPortOf(variables.GATEWAY_PORT)],
        ['device service', operationsPortOf(variables.DEVICE_SERVICE_PORT)],
      ]
    : [['app at OPERATIONS_PORT', variables.OPERATIONS_PORT]];
}

/** Variables that the servers ignore, or that make them refuse to start. */
async function checkVariables(
  environment: Environment,
  servers: readonly PublicServer[],
): Promise<readonly Finding[]> {
  const { warnings } = findMisspelledVariables(environment);
  const unencrypted = servers.filter(({ url }) => url.startsWith('http:') && !isLoopbackUrl(url));
  return [
    ...warnings.map((what) => finding('variable_misspelled', what)),
    ...unencrypted.map(({ variable, url }) => finding('url_not_https', `${variable} is ${url}.`)),
  ];
}

async function checkFiles(
  environment: Environment,
  { DATA_DIR, STORE_URL, DATABASE_URL }: Variables,
  fix: boolean,
): Promise<readonly Finding[]> {
  const isEmbedded = STORE_URL === undefined || DATABASE_URL === undefined;
  const databases = Object.entries({ STORE_URL, DATABASE_URL })
    .map(([name, url]) => ({ name, path: pathOf(url) ?? '' }))
    .filter(({ path }) => path !== '');
  const { warnings } = inspectFileAccess({
    files: [
      ...identitySecretFiles(environment),
      ...secretFilesOf(environment, ['COOKIE_KEYS_FILE', 'DATABASE_URL_FILE']),
      ...databases,
    ],
    dataDirectory: isEmbedded && existsSync(DATA_DIR) ? DATA_DIR : undefined,
    publicUrl: undefined,
    corrects: fix,
  });
  return warnings.map((what) => finding('file_exposed', what));
}

function pathOf(url: string | undefined): string | undefined {
  return /^sqlite:(.+)$/.exec(url ?? '')?.[1];
}

async function examineStore(
  environment: Environment,
  { STORE_URL }: Variables,
  servers: readonly PublicServer[],
): Promise<readonly Finding[]> {
  const path = pathOf(STORE_URL);
  if (path !== undefined && !existsSync(path)) {
    // Opening the store would create it.
    return [finding('store_not_opened', 'STORE_URL names a file that does not exist.')];
  }
  const warned: string[] = [];
  const warn = (what: string) => warned.push(what);
  try {
    const { identity, close } = await openIdentityStore(environment, warn, false);
    try {
      return await checkStore(identity, servers, warned);
    } finally {
      await close();
    }
  } catch (error) {
    if (error instanceof StoreUnavailableError) {
      const id = error instanceof StoreFullError ? 'store_nearly_full' : 'store_unavailable';
      return [finding(id, error.reason ?? 'The store does not answer.')];
    }
    return configurationFindings('store_not_opened', error);
  }
}

/**
 * An open store: its space and clock, its records, and what its request log shows.
 *
 * @throws StoreUnavailableError
 */
async function checkStore(
  identity: Identity,
  servers: readonly PublicServer[],
  warned: readonly string[],
): Promise<readonly Finding[]> {
  const { store, requestLog } = identity;
  const remote = servers.filter(({ url }) => !isLoopbackUrl(url));
  const startedAt = Date.now();
  const room = await store.ping();
  const at = (startedAt + Date.now()) / 2;
  const records = await examineRecords(identity, { isPublic: remote.length > 0, now: Date.now });
  const forwarding = await Promise.all(remote.map((each) => checkForwarding(each, requestLog)));
  const found = [...(await examineRoom(identity, warned)), ...records];
  return [
    ...found.map(({ id, what }) => finding(id, what)),
    ...room.servers.flatMap(({ time }) => checkClock('Redis', time, at)),
    ...forwarding.flat(),
  ];
}

/** @throws the error if it is not about the configuration */
function configurationFindings(id: FindingId, error: unknown): readonly Finding[] {
  if (error instanceof ConfigurationError) {
    return error.problems.map(({ name, message }) => finding(id, `${name}: ${message}.`));
  }
  throw error;
}
