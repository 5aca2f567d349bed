/**
 * Examines an installation as its servers, its clients and an attacker see it.
 *
 *   environment ─▶ files, store (clients, keys), apps of this machine, public servers ─▶ findings
 *
 * A check reads, and changes nothing. Only `--fix` corrects the modes of files that Gatehouse
 * created. A check runs although others fail, so that one run shows everything.
 */
import { existsSync } from 'node:fs';
import {
  type Client,
  demoProblems,
  grantFacts,
  type Identity,
  identitySecretFiles,
} from '@gatehouse/identity';
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
import {
  describeFindings,
  errorsFirst,
  type Finding,
  type FindingId,
  finding,
} from './findings.ts';

const NEARLY_FULL_PERCENT = 80;

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
  const warned: Finding[] = [];
  const warn = (what: string) => warned.push(finding('store_may_lose_writes', what));
  try {
    const { identity, close } = await openIdentityStore(environment, warn, false);
    try {
      return [...(await checkStore(identity, servers)), ...warned];
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
 * An open store: its space and clock, its clients, and what its request log shows.
 *
 * @throws StoreUnavailableError
 */
async function checkStore(
  identity: Identity,
  servers: readonly PublicServer[],
): Promise<readonly Finding[]> {
  const { store, clients, requestLog } = identity;
  const remote = servers.filter(({ url }) => !isLoopbackUrl(url));
  const isPublic = remote.length > 0;
  const startedAt = Date.now();
  const room = await store.ping();
  const at = (startedAt + Date.now()) / 2;
  const { usedBytes, maximumBytes = Number.POSITIVE_INFINITY } = room;
  const percent = Math.floor((usedBytes / maximumBytes) * 100);
  const demo = isPublic ? await demoProblems(identity) : [];
  const forwarding = await Promise.all(remote.map((each) => checkForwarding(each, requestLog)));
  return [
    ...(percent < NEARLY_FULL_PERCENT
      ? []
      : [finding('store_nearly_full', `The store uses ${percent} % of its space.`)]),
    ...demo.map(({ name, message }) => finding('demo_in_production', `${name} ${message}.`)),
    ...room.servers.flatMap(({ time }) => checkClock('Redis', time, at)),
    ...checkClients(await clients.list(), isPublic, clients),
    ...forwarding.flat(),
  ];
}

/** Weak settings of the enabled clients. One finding names all clients of a kind. */
function checkClients(
  clients: readonly Client[],
  isPublic: boolean,
  { keyIds }: Pick<Identity['clients'], 'keyIds'>,
): readonly Finding[] {
  const signsWith = (algorithm: string) => (client: Client) =>
    client.signatureAlgorithm === algorithm && client.keys.some(({ state }) => state === 'active');
  const hasWeakGrant = ({ grantTypes }: Client) =>
    grantTypes.some((type) => grantFacts(type).isLegacy);
  const kinds: readonly (readonly [FindingId, (client: Client) => boolean])[] = [
    ['client_uses_md5', signsWith('MD5')],
    ['client_uses_version_1', (client) => isPublic && signsWith('SHA-256')(client)],
    ['client_has_weak_grant', hasWeakGrant],
    ['client_has_no_key', (client) => !client.public && keyIds(client).length === 0],
  ];
  return kinds.flatMap(([id, isWeak]) => {
    const found = clients.filter((client) => client.enabled && isWeak(client));
    const names = found.map(({ clientId }) => clientId).join(', ');
    return found.length === 0 ? [] : [finding(id, `Clients: ${names}.`)];
  });
}

/** @throws the error if it is not about the configuration */
function configurationFindings(id: FindingId, error: unknown): readonly Finding[] {
  if (error instanceof ConfigurationError) {
    return error.problems.map(({ name, message }) => finding(id, `${name}: ${message}.`));
  }
  throw error;
}
