/** The names of variables: declared, former, retired and misspelled ones. */
import type { Environment } from './environment.ts';

/**
 * The variables of all apps, because one environment often serves all of them. The declarations in
 * the configuration of each app are the source: `npm run generate:docs`.
 */
const declared = {
  // generated
  secret: `
    DATABASE_URL SMTP_URL STORE_URL
  `,
  protects: `
    ACCESS_TOKEN_MAXIMUM_SECONDS ADDRESS_RATE_LIMIT AUDIT_RETENTION_DAYS
    AUTHORIZATION_SERVER_INTERNAL_URL AUTHORIZATION_SERVER_URL BOOTSTRAP_FILE
    CLIENT_ENDPOINT_RATE_LIMIT CLIENT_RATE_LIMIT DATA_DIR EXPLORER FORWARD_AUTH GATEWAY_JWKS_URL
    GATEWAY_URL LOG_RETENTION_DAYS MASTER_KEY_FILE PAGE_RATE_LIMIT ROUTES_FILE SECURITY_PROFILE
    SIGNATURE_TOLERANCE_SECONDS TRUSTED_PROXIES
  `,
  plain: `
    AUTHORIZATION_SERVER_PORT AUTHORIZATION_SERVER_SOCKET CONSOLE_SOCKET CONSOLE_URL
    DEVICE_SERVICE_PORT DEVICE_SERVICE_SOCKET DEVICE_SERVICE_URL GATEWAY_PORT GATEWAY_SOCKET HOST
    LOG_LEVEL MAIL_FROM OPERATIONS_PORT SHUTDOWN_DELAY_SECONDS WORKERS
  `,
  // end
};

const ofKind = (kind: keyof typeof declared) => declared[kind].trim().split(/\s+/);

/** Names of the last release. They work for one more release, with a warning. */
export const formerVariables: Readonly<Record<string, string>> = {
  CLIENT_REQUESTS_PER_MINUTE: 'CLIENT_ENDPOINT_RATE_LIMIT',
  PAGE_REQUESTS_PER_MINUTE: 'PAGE_RATE_LIMIT',
};

/** Variables that work for one more release, and what the next one does instead. */
export const retiredVariables: Readonly<Record<string, string>> = {
  DEMO_APPLICATION_PORT:
    'ignores it: npm start uses AUTHORIZATION_SERVER_PORT + 10, and containers use 9010',
  GATEHOUSE_OPERATOR: 'reads SUDO_USER instead',
  MAXIMUM_CONNECTIONS: 'accepts 8192 connections in each worker. For more, set WORKERS',
  SIGNING_KEY_ROTATION_DAYS: 'rotates signing keys after 90 days',
};

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
  ...new Set([...securityVariables, ...ofKind('plain'), ...Object.keys(retiredVariables)]),
  'FORMER_COMPOSE_VARIABLES',
];

/** The value of a variable, or that of its former name, which is a number of requests a minute. */
export function settingOf(name: string, environment: Environment): string | undefined {
  const former = Object.keys(formerVariables).find((each) => formerVariables[each] === name);
  const requests = former && environment[former];
  return environment[name] || (requests && `${requests}/60`) || undefined;
}

/** Warnings about former names, for the log. docker-compose.yml reports those that it reads. */
function formerNameWarnings(environment: Environment): readonly string[] {
  const renamed = Object.entries(formerVariables)
    .filter(([former]) => environment[former])
    .map(([former, name]) => {
      const effect = environment[name] ? `is ignored, because ${name} is set` : 'still works';
      return `${former}: ${effect}. The next release reads only ${name}`;
    });
  const set = Object.keys(retiredVariables).filter((name) => environment[name]);
  const ofCompose = (environment.FORMER_COMPOSE_VARIABLES ?? '').split(' ').filter(Boolean);
  const retired = [...set, ...ofCompose].map((former) => {
    const change = retiredVariables[former] ?? 'needs a docker-compose.override.yml instead';
    return `${former}: still works. The next release ${change}`;
  });
  return [...renamed, ...retired];
}

/** Variables of other programs that look like misspellings. In capitals, with underscores. */
export const variablesOfOthers: readonly string[] =
  'DATABASE_URI DATABASE_URI_FILE DATADIR DATA_DIRS GLOG_LEVEL KLOG_LEVEL LOGLEVEL LOG_LEVELS SLOG_LEVEL'.split(
    ' ',
  );

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

/**
 * Finds variables whose name differs from a Gatehouse variable by one mistake. An operator who
 * wrote `SECURTY_PROFILE=strict` believes that the profile is strict.
 *
 * @returns problems, misspellings of security variables with which a process must not start, and
 *   warnings for the log: other misspellings and former names
 */
export function findMisspelledVariables(environment: Environment) {
  const found = Object.keys(environment).flatMap((name) => {
    const meant = environment[name] ? findMeant(name) : undefined;
    const message = `looks like a misspelling of ${meant}. Rename it or unset it`;
    return meant === undefined ? [] : [{ name, meant, message }];
  });
  const isProblem = ({ meant }: { meant: string }) => securityVariables.includes(meant);
  const others = found.filter((each) => !isProblem(each));
  const misspelled = others.map(({ name, message }) => `${name}: ${message}`);
  const warnings = [...formerNameWarnings(environment), ...misspelled];
  return { problems: found.filter(isProblem), warnings };
}

function findMeant(name: string): string | undefined {
  const plain = name.toUpperCase().replace(/[-.]/g, '_');
  if (knownVariables.includes(name) || variablesOfOthers.includes(plain)) {
    return undefined;
  }
  const similar = knownVariables.find(
    (known) =>
      known.length >= MINIMUM_LENGTH &&
      (differsByOneMistake(plain, known) || differsByOneMistake(singular(plain), singular(known))),
  );
  return similar ?? likelyNames[plain];
}

/** One character added, missing or changed, or two neighbors swapped. Also true for equal texts. */
function differsByOneMistake(a: string, b: string): boolean {
  let start = 0;
  while (start < a.length && a[start] === b[start]) {
    start++;
  }
  const [left, right] = [a.slice(start), b.slice(start)];
  const swapped = `${left.charAt(1)}${left.charAt(0)}${left.slice(2)}`;
  return [left.slice(1), swapped].includes(right) || [left, left.slice(1)].includes(right.slice(1));
}

/** `TRUSTED_PROXY` for `TRUSTED_PROXIES`, `ADDRESS_RATE_LIMIT` for `ADDRESS_RATE_LIMITS`. */
function singular(name: string): string {
  return name.replace(/IES(?=_|$)/g, 'Y').replace(/S(?=_|$)/g, '');
}
