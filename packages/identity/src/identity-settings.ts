import { join } from 'node:path';
import {
  baseUrl,
  ConfigurationError,
  debuggingProblems,
  type Environment,
  findMisspelledVariables,
  inspectFileAccess,
  isLoopbackUrl,
  type ProblemCollector,
  type SecretFile,
  secretFilesOf,
  wholeNumber,
} from '@gatehouse/server/configuration';
import { parseStoreUrl } from '@gatehouse/store';
import { z } from 'zod';
import { bootstrapDefinition, bootstrapSecretFiles } from './bootstrap/load-bootstrap.ts';
import { DEFAULT_AUDIT_RETENTION_DAYS } from './log/audit-trail.ts';
import { productionProblems } from './production-problems.ts';
import { loadMasterKey } from './secrets/master-key.ts';
import { defaultSigningKeyPolicy } from './secrets/signing-keys.ts';

/** The variables of every process that opens the identity store. */
export const identityVariables = {
  STORE_URL: z.string().superRefine(checkStoreUrl).optional().meta({
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
  CONSOLE_URL: baseUrl
    .refine(
      (url) => URL.parse(url)?.origin === url && (url.startsWith('https:') || isLoopbackUrl(url)),
      'must be an origin without a path, and https unless it is a loopback address',
    )
    .optional()
    .meta({
      description: 'Public origin of the console, for its client and its [API](#operators).',
      default: 'none: no console',
      example: 'http://localhost:9020',
    }),
  // One more release reads it.
  SIGNING_KEY_ROTATION_DAYS: wholeNumber(1, 9999).optional(),
  AUDIT_RETENTION_DAYS: wholeNumber(1, 9999).default(DEFAULT_AUDIT_RETENTION_DAYS).meta({
    description: 'Age at which audit entries are deleted, 1 to 9999 days.',
    protects: true,
  }),
} as const;

function checkStoreUrl(url: string, context: z.RefinementCtx): void {
  try {
    parseStoreUrl(url);
  } catch (error) {
    context.addIssue((error as Error).message);
  }
}

const DAY_SECONDS = 24 * 60 * 60;

type Variables = { readonly DATA_DIR: string } & Readonly<
  z.output<z.ZodObject<typeof identityVariables>>
>;

export type IdentitySettings = ReturnType<typeof resolveIdentitySettings>;

/** @throws ConfigurationError if STORE_URL is set without MASTER_KEY_FILE */
export function resolveIdentitySettings(variables: Variables) {
  const { DATA_DIR, STORE_URL, MASTER_KEY_FILE, SIGNING_KEY_ROTATION_DAYS } = variables;
  const embedded = STORE_URL === undefined;
  if (!embedded && MASTER_KEY_FILE === undefined) {
    throw new ConfigurationError([
      { name: 'MASTER_KEY_FILE', message: 'is required when STORE_URL is set' },
    ]);
  }
  const masterKeyFile = MASTER_KEY_FILE ?? join(DATA_DIR, 'master.key');
  return {
    storeUrl: STORE_URL ?? `sqlite:${join(DATA_DIR, 'gatehouse.sqlite')}`,
    /** STORE_URL is not set: SQLite files in the data directory, and generated keys. */
    embedded,
    masterKey: loadMasterKey(masterKeyFile, MASTER_KEY_FILE === undefined),
    masterKeyFile,
    bootstrapFile: variables.BOOTSTRAP_FILE,
    /** Undefined: there is no console. */
    consoleUrl: variables.CONSOLE_URL,
    securityProfile: variables.SECURITY_PROFILE,
    auditRetentionDays: variables.AUDIT_RETENTION_DAYS,
    signingKeyPolicy: {
      ...defaultSigningKeyPolicy,
      ...(SIGNING_KEY_ROTATION_DAYS !== undefined && {
        rotateAfterSeconds: SIGNING_KEY_ROTATION_DAYS * DAY_SECONDS,
      }),
    },
  };
}

/**
 * What all servers with the identity records read and check: files, keys, the bootstrap file, and what
 * a public address forbids. The app adds its own problems before it throws them.
 */
export function checkServerSettings(
  problems: ProblemCollector,
  environment: Environment,
  server: {
    readonly read: Variables & { readonly TRUSTED_PROXIES?: readonly string[] | undefined };
    readonly publicUrl: string;
    /** Variables that name Unix sockets, and more files with secrets. */
    readonly sockets: readonly string[];
    readonly files?: readonly string[];
    /** Whether it applies the bootstrap file. */
    readonly bootstraps: boolean;
    readonly gatewayUrl?: string;
    readonly cookieKeys?: readonly string[];
  },
) {
  const { read, sockets, files = [], bootstraps, ...subject } = server;
  const { DATA_DIR: dataDirectory, TRUSTED_PROXIES: trustedProxies = [] } = read;
  const embedded = read.STORE_URL === undefined;
  const { problems: exposed, warnings } = inspectFileAccess({
    files: [...identitySecretFiles(environment), ...secretFilesOf(environment, files)],
    sockets: secretFilesOf(environment, sockets),
    dataDirectory: embedded ? dataDirectory : undefined,
    publicUrl: subject.publicUrl,
  });
  problems.add(exposed);
  const identity = problems.attempt(() => resolveIdentitySettings(read));
  const source = { ...subject, bootstrapFile: read.BOOTSTRAP_FILE, dataDirectory, embedded };
  const bootstrap = bootstraps ? problems.attempt(() => bootstrapDefinition(source)) : undefined;
  const masterKey = identity?.masterKey;
  const checked = { ...subject, dataDirectory, trustedProxies, masterKey, bootstrap };
  problems.add([
    ...productionProblems(checked),
    ...debuggingProblems(subject.publicUrl, environment),
  ]);
  const misspelled = findMisspelledVariables(environment).warnings;
  return {
    dataDirectory,
    trustedProxies,
    identity,
    bootstrap,
    warnings: [...misspelled, ...warnings],
  };
}

/** The secret files of the identity store, including those that the bootstrap file names. */
export function identitySecretFiles(environment: Environment): readonly SecretFile[] {
  const { BOOTSTRAP_FILE } = environment;
  return [
    ...secretFilesOf(environment, ['STORE_URL_FILE', 'MASTER_KEY_FILE', 'BOOTSTRAP_FILE']),
    ...(BOOTSTRAP_FILE ? bootstrapSecretFiles(BOOTSTRAP_FILE) : []),
  ];
}
