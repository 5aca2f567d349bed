import { join } from 'node:path';
import { ConfigurationError } from '@gatehouse/server/configuration';
import { z } from 'zod';
import { DEFAULT_AUDIT_RETENTION_DAYS } from './audit/trail-log.ts';
import type { MasterKeys } from './secrets/master-key.ts';
import { loadMasterKey } from './secrets/master-key-file.ts';
import { defaultSigningKeyPolicy, type SigningKeyPolicy } from './signing-keys/signing-keys.ts';

/** The variables of every process that opens the identity store. */
export const identityVariables = {
  STORE_URL: z.string().optional().meta({
    description:
      'Address of the [shared store](#store), or its file in `STORE_URL_FILE`. Ends the embedded mode.',
    default: 'a SQLite file in `DATA_DIR`',
    secret: true,
    example: 'redis://127.0.0.1:6379',
  }),
  MASTER_KEY_FILE: z.string().optional().meta({
    description: 'File of the [master key](#keys). Required with `STORE_URL`.',
    default: 'generated in `DATA_DIR`',
    protects: true,
    example: '/run/secrets/master-key',
  }),
  BOOTSTRAP_FILE: z.string().optional().meta({
    description: 'Organizations, clients and users to [apply](#bootstrap-file) at every start.',
    default: 'none: the demo',
    protects: true,
    example: './bootstrap.json',
  }),
  SECURITY_PROFILE: z
    .enum(['compatible', 'strict'], { message: 'must be compatible or strict' })
    .default('compatible')
    .meta({ description: '`strict` [rejects weak methods](#security-profile).', protects: true }),
  // One more release reads it.
  SIGNING_KEY_ROTATION_DAYS: z
    .string()
    .regex(/^[1-9]\d{0,3}$/, 'must be a number of days, 1 to 9999')
    .transform(Number)
    .optional(),
  AUDIT_RETENTION_DAYS: z
    .string()
    .regex(/^[1-9]\d{0,3}$/, 'must be a number of days, 1 to 9999')
    .transform(Number)
    .default(DEFAULT_AUDIT_RETENTION_DAYS)
    .meta({
      description: 'Age at which audit entries are deleted, 1 to 9999 days.',
      protects: true,
    }),
} as const;

const DAY_SECONDS = 24 * 60 * 60;

export interface IdentitySettings {
  readonly storeUrl: string;
  /** STORE_URL is not set: SQLite files in the data directory, and generated keys. */
  readonly embedded: boolean;
  readonly masterKey: MasterKeys;
  readonly masterKeyFile: string;
  readonly bootstrapFile: string | undefined;
  readonly securityProfile: 'compatible' | 'strict';
  readonly signingKeyPolicy: SigningKeyPolicy;
  /** How long audit entries are kept. */
  readonly auditRetentionDays: number;
}

/** @throws ConfigurationError if STORE_URL is set without MASTER_KEY_FILE */
export function resolveIdentitySettings(variables: {
  readonly DATA_DIR: string;
  readonly STORE_URL?: string | undefined;
  readonly MASTER_KEY_FILE?: string | undefined;
  readonly BOOTSTRAP_FILE?: string | undefined;
  readonly SECURITY_PROFILE: 'compatible' | 'strict';
  readonly SIGNING_KEY_ROTATION_DAYS?: number | undefined;
  readonly AUDIT_RETENTION_DAYS: number;
}): IdentitySettings {
  const { DATA_DIR, STORE_URL, MASTER_KEY_FILE, SIGNING_KEY_ROTATION_DAYS: days } = variables;
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
    masterKeyFile,
    bootstrapFile: variables.BOOTSTRAP_FILE,
    securityProfile: variables.SECURITY_PROFILE,
    auditRetentionDays: variables.AUDIT_RETENTION_DAYS,
    signingKeyPolicy:
      days === undefined
        ? defaultSigningKeyPolicy
        : { ...defaultSigningKeyPolicy, rotateAfterSeconds: days * DAY_SECONDS },
  };
}
