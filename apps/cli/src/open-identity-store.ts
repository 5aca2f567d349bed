import { existsSync, readFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import {
  assertMasterKeyFits,
  identitySecretFiles,
  identityVariables,
  openIdentity,
  resolveIdentitySettings,
} from '@gatehouse/identity';
import type { Operator } from '@gatehouse/operators';
import {
  baseUrl,
  ConfigurationError,
  commonVariables,
  type Environment,
  inspectFileAccess,
  parseEnvironment,
  port,
  retiredVariables,
} from '@gatehouse/server/configuration';
import { createStore } from '@gatehouse/store';
import { z } from 'zod';

/** What every command that opens a store reads. */
export const variables = z.object({ DATA_DIR: commonVariables.DATA_DIR, ...identityVariables });

const serverVariables = z.object({
  AUTHORIZATION_SERVER_PORT: port.default(9000),
  AUTHORIZATION_SERVER_URL: baseUrl.optional(),
});

/**
 * The public address of the authorization server.
 *
 * @throws ConfigurationError
 */
export function authorizationServerUrl(environment: Environment): string {
  const read = parseEnvironment(serverVariables, environment);
  return read.AUTHORIZATION_SERVER_URL ?? `http://localhost:${read.AUTHORIZATION_SERVER_PORT}`;
}

const MAXIMUM_OPERATOR_CHARACTERS = 64;

/** The version of Gatehouse to which the commands belong. */
export const release: string = JSON.parse(
  readFileSync(new URL('../package.json', import.meta.url), 'utf8'),
).version;

/**
 * Opens the store of the servers, with the same variables.
 *
 * @param onWarning receives warnings about settings of the store
 * @param correctsModes whether to remove other users' access to files that Gatehouse created
 * @throws ConfigurationError also if no server has created a store yet. Otherwise an operator in
 *   the wrong folder would change a new, empty store.
 */
export async function openIdentityStore(
  environment: Environment,
  onWarning?: (message: string) => void,
  correctsModes = true,
) {
  const read = parseEnvironment(variables, environment);
  const { DATA_DIR, STORE_URL } = read;
  if (STORE_URL === undefined && !existsSync(join(DATA_DIR, 'master.key'))) {
    const message =
      'contains no store. Start the servers once, or set DATA_DIR or STORE_URL to what they use';
    throw new ConfigurationError([{ name: 'DATA_DIR', message }]);
  }
  // Problems are only warnings: a revocation must not wait for a chmod.
  const { warnings: exposed } = inspectFileAccess({
    files: identitySecretFiles(environment),
    dataDirectory: STORE_URL === undefined ? DATA_DIR : undefined,
    publicUrl: undefined,
    corrects: correctsModes,
  });
  const operator = `GATEHOUSE_OPERATOR: still works. The next release ${retiredVariables.GATEHOUSE_OPERATOR}`;
  const warnings = environment.GATEHOUSE_OPERATOR ? [...exposed, operator] : exposed;
  const settings = resolveIdentitySettings(read);
  const store = createStore(settings.storeUrl, onWarning && { onWarning });
  try {
    const identity = openIdentity({ store, ...settings });
    await assertMasterKeyFits(identity);
    return { identity, settings, warnings, close: () => store.close() };
  } catch (error) {
    await store.close();
    throw error;
  }
}

/** The operator who runs the commands, for the audit trail. */
export const operatorOf = (environment: Environment): Operator => ({
  actor: 'cli',
  operator: operatorName(environment),
});

/**
 * The name of the operator for the audit trail: the account that called `sudo`, or the account of
 * the process. Compose sets `SUDO_USER`, because every operator has the same account in a container.
 * Nothing verifies the name.
 */
function operatorName({ GATEHOUSE_OPERATOR, SUDO_USER }: Environment): string | undefined {
  // One more release reads GATEHOUSE_OPERATOR.
  const given = GATEHOUSE_OPERATOR || SUDO_USER || '';
  const name = given.replace(/[^\x20-\x7e]/g, '').slice(0, MAXIMUM_OPERATOR_CHARACTERS);
  if (name !== '') {
    return name;
  }
  try {
    return userInfo().username;
  } catch {
    // In a container that has no name for the account.
    return undefined;
  }
}
