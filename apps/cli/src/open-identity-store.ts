import { existsSync } from 'node:fs';
import { join } from 'node:path';
import {
  assertMasterKeyFits,
  type Identity,
  type IdentitySettings,
  identitySecretFiles,
  identityVariables,
  openIdentity,
  resolveIdentitySettings,
} from '@gatehouse/identity';
import {
  ConfigurationError,
  commonVariables,
  type Environment,
  inspectFileAccess,
  parseEnvironment,
  retiredVariables,
} from '@gatehouse/server/configuration';
import { createStore } from '@gatehouse/store';
import { z } from 'zod';

const variables = z.object({ DATA_DIR: commonVariables.DATA_DIR, ...identityVariables });

export interface OpenIdentityStore {
  readonly identity: Identity;
  readonly settings: IdentitySettings;
  readonly warnings: readonly string[];
  close(): Promise<void>;
}

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
): Promise<OpenIdentityStore> {
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
  const store = openStore(settings.storeUrl, onWarning);
  try {
    const identity = openIdentity({ store, ...settings });
    await assertMasterKeyFits(identity);
    return { identity, settings, warnings, close: () => store.close() };
  } catch (error) {
    await store.close();
    throw error;
  }
}

function openStore(url: string, onWarning: ((message: string) => void) | undefined) {
  try {
    return createStore(url, onWarning && { onWarning });
  } catch (error) {
    if (error instanceof TypeError) {
      throw new ConfigurationError([{ name: 'STORE_URL', message: error.message }]);
    }
    throw error;
  }
}
