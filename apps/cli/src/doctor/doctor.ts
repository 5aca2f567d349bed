/**
 * Examines an installation as its servers, its clients and an attacker see it.
 *
 *   environment ─▶ installation ─▶ checks/ (probe: HTTP requests) ─▶ findings, worst first
 *
 * A check reads, and changes nothing. Only `--fix` corrects the modes of files that Gatehouse
 * created. A check runs although others fail, so that one run shows everything.
 */
import { existsSync } from 'node:fs';
import { type Identity, resolveIdentitySettings } from '@gatehouse/identity';
import {
  ConfigurationError,
  type Environment,
  isLoopbackUrl,
} from '@gatehouse/server/configuration';
import { parseStoreUrl, StoreUnavailableError } from '@gatehouse/store';
import { openIdentityStore } from '../open-identity-store.ts';
import { checkApps } from './checks/check-apps.ts';
import { checkClients } from './checks/check-clients.ts';
import { checkConfiguration, checkDemo } from './checks/check-configuration.ts';
import { checkFiles } from './checks/check-files.ts';
import { checkForwarding } from './checks/check-forwarding.ts';
import { checkPublicServer } from './checks/check-public-server.ts';
import { checkSigningKeys } from './checks/check-signing-keys.ts';
import { checkStore, describeOutage } from './checks/check-store.ts';
import { checkUnusedClients } from './checks/check-unused-clients.ts';
import { databaseFiles } from './database-files.ts';
import { type Finding, finding } from './finding.ts';
import { type Installation, readInstallation } from './installation.ts';
import { severities } from './severity.ts';

/**
 * @param options.onlyAddresses examines the public addresses only, on a machine without the store
 * @param options.fix removes other users' access to files that Gatehouse created
 * @returns the findings, errors first
 */
export async function examine(
  environment: Environment,
  now: () => number,
  options: { readonly onlyAddresses: boolean; readonly fix: boolean },
): Promise<readonly Finding[]> {
  let installation: Installation;
  try {
    installation = readInstallation(environment);
  } catch (error) {
    return invalidVariables(error);
  }
  const { servers } = installation;
  const findings = [
    ...(options.onlyAddresses ? [] : await examineMachine(installation, now, options.fix)),
    ...(await Promise.all(servers.map((server) => checkPublicServer(server)))).flat(),
  ];
  return findings.toSorted(
    (a, b) => severities.indexOf(a.severity) - severities.indexOf(b.severity),
  );
}

async function examineMachine(
  installation: Installation,
  now: () => number,
  fix: boolean,
): Promise<readonly Finding[]> {
  return [
    ...checkConfiguration(installation),
    ...(await checkFiles(installation, fix)),
    ...(await examineStore(installation, now)),
    ...(await checkApps(installation)),
  ];
}

async function examineStore(
  installation: Installation,
  now: () => number,
): Promise<readonly Finding[]> {
  const store = databaseFiles(installation.variables).find(
    ({ variable }) => variable === 'STORE_URL',
  );
  if (store !== undefined && !existsSync(store.path)) {
    // Opening the store would create it.
    return [finding('store_missing', 'STORE_URL names a file that does not exist.')];
  }
  const warned: Finding[] = [];
  let opened: Awaited<ReturnType<typeof openIdentityStore>>;
  try {
    opened = await openIdentityStore(
      installation.environment,
      (what) => warned.push(finding('store_may_lose_writes', what)),
      false,
    );
  } catch (error) {
    return [describeUnopened(error)];
  }
  try {
    const { identity } = opened;
    const { storeUrl, signingKeyPolicy } = resolveIdentitySettings(installation.variables);
    const found = await checkStore(identity.store, parseStoreUrl(storeUrl).engine);
    const isAvailable = found.every(({ id }) => id !== 'store_unavailable');
    return [
      ...found,
      ...(isAvailable ? await examineRecords(installation, identity, signingKeyPolicy, now()) : []),
      ...warned,
    ];
  } catch (error) {
    return [describeOutage(error), ...warned];
  } finally {
    await opened.close();
  }
}

async function examineRecords(
  installation: Installation,
  identity: Identity,
  policy: Parameters<typeof checkSigningKeys>[1],
  now: number,
): Promise<readonly Finding[]> {
  const publicServers = installation.servers.filter(({ url }) => !isLoopbackUrl(url));
  const groups = await Promise.all([
    checkDemo(installation, identity),
    checkSigningKeys(identity, policy, now),
    checkClients(identity, now),
    checkUnusedClients(identity, now),
    ...publicServers.map((server) => checkForwarding(server, identity.requestLog)),
  ]);
  return groups.flat();
}

function describeUnopened(error: unknown): Finding {
  if (error instanceof ConfigurationError) {
    const [{ name, message } = { name: '', message: '' }] = error.problems;
    const what = `${name}: ${message}.`;
    if (message.startsWith('contains no store')) {
      return finding('store_missing', what);
    }
    const isMasterKey = message.includes('differs from the master key');
    return finding(isMasterKey ? 'store_master_key_wrong' : 'variable_invalid', what);
  }
  if (error instanceof StoreUnavailableError) {
    return describeOutage(error);
  }
  throw error;
}

/** @throws the error if it is not about the configuration */
function invalidVariables(error: unknown): readonly Finding[] {
  if (error instanceof ConfigurationError) {
    return error.problems.map(({ name, message }) =>
      finding('variable_invalid', `${name}: ${message}.`),
    );
  }
  throw error;
}
