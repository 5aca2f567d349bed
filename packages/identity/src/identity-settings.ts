import { join } from 'node:path';
import { ConfigurationError } from '@gatehouse/configuration';
import { z } from 'zod';
import { loadMasterKey, type MasterKey } from './master-key.ts';

/** The variables of every process that opens the identity store. */
export const identityVariables = {
  STORE_URL: z.string().optional(),
  MASTER_KEY_FILE: z.string().optional(),
  BOOTSTRAP_FILE: z.string().optional(),
  SECURITY_PROFILE: z
    .enum(['compatible', 'strict'], { message: 'must be compatible or strict' })
    .default('compatible'),
} as const;

export interface IdentitySettings {
  readonly storeUrl: string;
  /** No STORE_URL was given: SQLite files in the data directory, keys made at first start. */
  readonly embedded: boolean;
  readonly masterKey: MasterKey;
  readonly bootstrapFile: string | undefined;
  readonly securityProfile: 'compatible' | 'strict';
}

/** @throws ConfigurationError when the store is not embedded and no master key file is named */
export function resolveIdentitySettings(variables: {
  readonly DATA_DIR: string;
  readonly STORE_URL?: string | undefined;
  readonly MASTER_KEY_FILE?: string | undefined;
  readonly BOOTSTRAP_FILE?: string | undefined;
  readonly SECURITY_PROFILE: 'compatible' | 'strict';
}): IdentitySettings {
  const { DATA_DIR, STORE_URL, MASTER_KEY_FILE } = variables;
  const embedded = STORE_URL === undefined;
  if (!embedded && MASTER_KEY_FILE === undefined) {
    throw new ConfigurationError([
      { name: 'MASTER_KEY_FILE', message: 'is required when STORE_URL is set' },
    ]);
  }
  const masterKeyFile = MASTER_KEY_FILE ?? join(DATA_DIR, 'master.key');
  return {
    storeUrl: STORE_URL ?? `sqlite:${join(DATA_DIR, 'gatehouse.sqlite')}`,
    embedded,
    masterKey: loadMasterKey(masterKeyFile, MASTER_KEY_FILE === undefined),
    bootstrapFile: variables.BOOTSTRAP_FILE,
    securityProfile: variables.SECURITY_PROFILE,
  };
}
