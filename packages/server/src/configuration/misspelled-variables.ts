import { formerNameWarnings, knownVariables, securityVariables } from './known-variables.ts';

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
  SIGNING_KEY_ROTATION: 'SIGNING_KEY_ROTATION_DAYS',
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
