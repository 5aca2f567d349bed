/** The names of variables: declared, former, retired and misspelled ones. */

/**
 * The variables of all apps, because one environment often serves all of them. The declarations in
 * the configuration of each app are the source: `npm run generate:docs`.
 */
const declared: Readonly<Record<string, 'plain' | 'protects' | 'secret'>> = {
  // generated
  ACCESS_TOKEN_MAXIMUM_SECONDS: 'protects',
  ADDRESS_RATE_LIMIT: 'protects',
  AUDIT_RETENTION_DAYS: 'protects',
  AUTHORIZATION_SERVER_PORT: 'plain',
  AUTHORIZATION_SERVER_SOCKET: 'plain',
  AUTHORIZATION_SERVER_URL: 'protects',
  BOOTSTRAP_FILE: 'protects',
  CLIENT_ENDPOINT_RATE_LIMIT: 'protects',
  CLIENT_RATE_LIMIT: 'protects',
  DATABASE_URL: 'secret',
  DATA_DIR: 'protects',
  DEVICE_SERVICE_PORT: 'plain',
  DEVICE_SERVICE_SOCKET: 'plain',
  DEVICE_SERVICE_URL: 'plain',
  EXPLORER: 'protects',
  FORWARD_AUTH: 'protects',
  GATEWAY_JWKS_URL: 'protects',
  GATEWAY_PORT: 'plain',
  GATEWAY_SOCKET: 'plain',
  GATEWAY_URL: 'protects',
  HOST: 'plain',
  LOG_LEVEL: 'plain',
  LOG_RETENTION_DAYS: 'protects',
  MASTER_KEY_FILE: 'protects',
  OPERATIONS_PORT: 'plain',
  PAGE_RATE_LIMIT: 'protects',
  ROUTES_FILE: 'protects',
  SECURITY_PROFILE: 'protects',
  SHUTDOWN_DELAY_SECONDS: 'plain',
  SIGNATURE_TOLERANCE_SECONDS: 'protects',
  STORE_URL: 'secret',
  TRUSTED_PROXIES: 'protects',
  WORKERS: 'plain',
  // end
};

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

/** Variables that work for one more release, and what the next one does instead. */
export const retiredVariables: Readonly<Record<string, string>> = {
  DEMO_APPLICATION_PORT:
    'ignores it: npm start uses AUTHORIZATION_SERVER_PORT + 10, and containers use 9010',
  GATEHOUSE_OPERATOR: 'reads SUDO_USER instead',
  MAXIMUM_CONNECTIONS: 'accepts 8192 connections in each worker. For more, set WORKERS',
  SIGNING_KEY_ROTATION_DAYS: 'rotates signing keys after 90 days',
};

const ofKind = (...kinds: readonly string[]) =>
  Object.keys(declared).filter((name) => kinds.includes(declared[name] ?? ''));

/** Variables that can contain a password. `NAME_FILE` can name a file that contains the value. */
export const secretVariables: readonly string[] = ofKind('secret');

/**
 * Variables that protect data. If the app ignored one, it could trust, accept or keep more than the
 * operator allows, or use a different store or key.
 */
export const securityVariables: readonly string[] = [
  ...secretVariables.flatMap((name) => [name, `${name}_FILE`]),
  ...ofKind('protects'),
  ...Object.keys(formerVariables),
  'COOKIE_KEYS_FILE',
  'SIGNING_KEY_ROTATION_DAYS',
];

/** Every variable that an app reads, except those of Node. */
export const knownVariables: readonly string[] = [
  ...securityVariables,
  ...ofKind('plain'),
  ...Object.keys(retiredVariables).filter((name) => !securityVariables.includes(name)),
  'FORMER_COMPOSE_VARIABLES',
];

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
function formerNameWarnings(
  environment: Readonly<Record<string, string | undefined>>,
): readonly string[] {
  const ofCompose = (environment.FORMER_COMPOSE_VARIABLES ?? '').split(' ').filter(Boolean);
  const set = Object.keys(retiredVariables).filter((name) => environment[name]);
  const renamed = Object.entries(formerVariables).flatMap(([former, { name }]) => {
    if (!environment[former]) {
      return [];
    }
    const effect = environment[name] ? `is ignored, because ${name} is set` : 'still works';
    return [`${former}: ${effect}. The next release reads only ${name}`];
  });
  const retired = [...set, ...ofCompose].map((former) => {
    const change = retiredVariables[former] ?? 'needs a docker-compose.override.yml instead';
    return `${former}: still works. The next release ${change}`;
  });
  return [...renamed, ...retired];
}

/** Variables of other programs that look like misspellings. In capitals, with underscores. */
export const variablesOfOthers: readonly string[] = [
  'DATABASE_URI',
  'DATABASE_URI_FILE',
  'DATADIR',
  'DATA_DIRS',
  'GLOG_LEVEL',
  'KLOG_LEVEL',
  'LOGLEVEL',
  'LOG_LEVELS',
  'SLOG_LEVEL',
];

/** Wrong names that are likely, although they are more than one mistake away. */
export const likelyNames: Readonly<Record<string, string>> = {
  ACCESS_TOKEN_MAX_SECONDS: 'ACCESS_TOKEN_MAXIMUM_SECONDS',
  AUDIT_RETENTION: 'AUDIT_RETENTION_DAYS',
  LOG_RETENTION: 'LOG_RETENTION_DAYS',
  SECURE_PROFILE: 'SECURITY_PROFILE',
  SECURITY_PROFILE_FILE: 'SECURITY_PROFILE',
  SHUTDOWN_DELAY: 'SHUTDOWN_DELAY_SECONDS',
  SIGNATURE_TOLERANCE: 'SIGNATURE_TOLERANCE_SECONDS',
  TRUST_PROXIES: 'TRUSTED_PROXIES',
};

/** Shorter names, such as `HOST`, are similar to names of other programs. */
const MINIMUM_LENGTH = 8;

const comparable = knownVariables.filter((name) => name.length >= MINIMUM_LENGTH);

/**
 * Finds variables whose name differs from a Gatehouse variable by one mistake. An operator who
 * wrote `SECURTY_PROFILE=strict` believes that the profile is strict.
 *
 * @returns problems, misspellings of security variables with which a process must not start, and
 *   warnings for the log: other misspellings and former names
 */
export function findMisspelledVariables(environment: Readonly<Record<string, string | undefined>>) {
  const found = Object.keys(environment).flatMap((name) => {
    const meant = environment[name] ? findMeant(name) : undefined;
    const message = `looks like a misspelling of ${meant}. Rename it or unset it`;
    return meant === undefined ? [] : [{ name, meant, message }];
  });
  return {
    problems: found.filter(({ meant }) => securityVariables.includes(meant)),
    warnings: [
      ...formerNameWarnings(environment),
      ...found
        .filter(({ meant }) => !securityVariables.includes(meant))
        .map(({ name, message }) => `${name}: ${message}`),
    ],
  };
}

function findMeant(name: string): string | undefined {
  const plain = name.toUpperCase().replace(/[-.]/g, '_');
  if (knownVariables.includes(name) || variablesOfOthers.includes(plain)) {
    return undefined;
  }
  const similar = comparable.find(
    (known) =>
      differsByOneMistake(plain, known) || differsByOneMistake(singular(plain), singular(known)),
  );
  return similar ?? likelyNames[plain];
}

/** One character added, missing or changed, or two neighbors swapped. Also true for equal texts. */
function differsByOneMistake(a: string, b: string): boolean {
  const shorter = Math.min(a.length, b.length);
  let start = 0;
  while (start < shorter && a[start] === b[start]) {
    start++;
  }
  let end = 0;
  while (end < shorter - start && a.at(-1 - end) === b.at(-1 - end)) {
    end++;
  }
  const [left, right] = [a.slice(start, a.length - end), b.slice(start, b.length - end)];
  return (
    Math.max(left.length, right.length) <= 1 ||
    (left.length === 2 && `${left[1]}${left[0]}` === right)
  );
}

/** `TRUSTED_PROXY` for `TRUSTED_PROXIES`, `ADDRESS_RATE_LIMIT` for `ADDRESS_RATE_LIMITS`. */
function singular(name: string): string {
  return name.replace(/IES(?=_|$)/g, 'Y').replace(/S(?=_|$)/g, '');
}
