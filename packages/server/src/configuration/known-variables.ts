/** Variables that can contain a password. `NAME_FILE` can name a file that contains the value. */
export const secretVariables: readonly string[] = ['DATABASE_URL', 'STORE_URL'];

interface FormerVariable {
  /** The variable that replaces it. */
  readonly name: string;
  /** Converts its value to one of the new variable. */
  readonly convert: (value: string) => string;
}

const perMinute = (requests: string) => `${requests}/60`;

/** Names of the last release. They work for one more release, with a warning. */
export const formerVariables: Readonly<Record<string, FormerVariable>> = {
  CLIENT_REQUESTS_PER_MINUTE: { name: 'CLIENT_ENDPOINT_RATE_LIMIT', convert: perMinute },
  PAGE_REQUESTS_PER_MINUTE: { name: 'PAGE_RATE_LIMIT', convert: perMinute },
};

/** Read for one more release. Nothing replaces it. */
const COOKIE_KEYS_FILE = 'COOKIE_KEYS_FILE';

/**
 * Variables that protect data. If the app ignored one, it could trust, accept or keep more than the
 * operator allows, or use a different store or key.
 */
export const securityVariables: readonly string[] = [
  ...secretVariables.flatMap((name) => [name, `${name}_FILE`]),
  ...Object.keys(formerVariables),
  COOKIE_KEYS_FILE,
  'ACCESS_TOKEN_MAXIMUM_SECONDS',
  'ADDRESS_RATE_LIMIT',
  'AUDIT_RETENTION_DAYS',
  'AUTHORIZATION_SERVER_URL',
  'BOOTSTRAP_FILE',
  'CLIENT_ENDPOINT_RATE_LIMIT',
  'CLIENT_RATE_LIMIT',
  'DATA_DIR',
  'EXPLORER',
  'FORWARD_AUTH',
  'GATEWAY_JWKS_URL',
  'GATEWAY_URL',
  'LOG_RETENTION_DAYS',
  'MASTER_KEY_FILE',
  'PAGE_RATE_LIMIT',
  'ROUTES_FILE',
  'SECURITY_PROFILE',
  'SIGNATURE_TOLERANCE_SECONDS',
  'SIGNING_KEY_ROTATION_DAYS',
  'TRUSTED_PROXIES',
];

const otherVariables: readonly string[] = [
  'AUTHORIZATION_SERVER_PORT',
  'AUTHORIZATION_SERVER_SOCKET',
  'DEVICE_SERVICE_PORT',
  'DEVICE_SERVICE_SOCKET',
  'DEVICE_SERVICE_URL',
  'FORMER_COMPOSE_VARIABLES',
  'GATEWAY_PORT',
  'GATEWAY_SOCKET',
  'HOST',
  'LOG_LEVEL',
  'MAXIMUM_CONNECTIONS',
  'OPERATIONS_PORT',
  'SHUTDOWN_DELAY_SECONDS',
  'WORKERS',
];

/**
 * Every variable that an app reads, except those of Node. Each app knows the variables of all apps,
 * because one environment often serves all of them. `test/variable-names.test.ts` checks this list.
 */
export const knownVariables: readonly string[] = [...securityVariables, ...otherVariables];

/** The value of a variable, or that of the former name that it replaces. */
export function settingOf(
  name: string,
  environment: Readonly<Record<string, string | undefined>>,
): string | undefined {
  const [former, { convert } = { convert: String }] =
    Object.entries(formerVariables).find(([, replaced]) => replaced.name === name) ?? [];
  const value = former === undefined ? undefined : environment[former];
  return environment[name] || (value ? convert(value) : undefined);
}

/** Warnings about former names, for the log. docker-compose.yml reports those that it reads. */
export function formerNameWarnings(
  environment: Readonly<Record<string, string | undefined>>,
): readonly string[] {
  const ofCompose = (environment.FORMER_COMPOSE_VARIABLES ?? '').split(' ').filter(Boolean);
  const override = 'still works. The next release needs a docker-compose.override.yml instead';
  const renamed = Object.entries(formerVariables).flatMap(([former, { name }]) => {
    if (!environment[former]) {
      return [];
    }
    const effect = environment[name] ? `is ignored, because ${name} is set` : 'still works';
    return [`${former}: ${effect}. The next release reads only ${name}`];
  });
  return [...renamed, ...ofCompose.map((former) => `${former}: ${override}`)];
}
