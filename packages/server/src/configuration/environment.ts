import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { isAbsolute } from 'node:path';
import { z } from 'zod';
import { isAddressOrRange } from './address-range.ts';
import { ConfigurationError, type ConfigurationProblem } from './configuration-error.ts';
import { findMisspelledVariables } from './misspelled-variables.ts';
import { isServiceLink } from './service-link.ts';

/** The process environment. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Variables that can contain a password. `NAME_FILE` can name a file that contains the value. */
const secretVariables = ['STORE_URL', 'DATABASE_URL'];

/**
 * Reads the variables of a schema. An empty variable counts as not set, because compose files and
 * shells pass on variables without a value.
 *
 * @throws ConfigurationError that lists every invalid variable and every misspelled security
 *   variable
 */
export function parseEnvironment<Schema extends z.ZodObject>(
  schema: Schema,
  environment: Environment,
): z.infer<Schema> {
  return parseVariables(schema, environment, findMisspelledVariables(environment).problems);
}

/**
 * Reads the variables of a schema, without looking for misspelled names.
 *
 * @param found problems found before, which the error also lists
 * @throws ConfigurationError that lists every problem
 */
export function parseVariables<Schema extends z.ZodObject>(
  schema: Schema,
  environment: Environment,
  found: readonly ConfigurationProblem[] = [],
): z.infer<Schema> {
  const problems = [...found];
  const values: Record<string, string> = {};
  for (const name of Object.keys(schema.shape)) {
    const value = secretVariables.includes(name)
      ? readSecret(name, environment, problems)
      : environment[name];
    if (value !== undefined && value !== '' && !isServiceLink(name, environment)) {
      values[name] = value;
    }
  }
  const parsed = schema.safeParse(values);
  problems.push(...(parsed.success ? [] : toProblems(parsed.error)));
  if (!parsed.success || problems.length > 0) {
    throw new ConfigurationError(problems);
  }
  return parsed.data;
}

function readSecret(
  name: string,
  environment: Environment,
  problems: ConfigurationProblem[],
): string | undefined {
  const value = environment[name] || undefined;
  const file = environment[`${name}_FILE`] || undefined;
  if (file === undefined) {
    return value;
  }
  if (value !== undefined) {
    problems.push({ name, message: `set either ${name} or ${name}_FILE, not both` });
  }
  // The message omits the path, because an operator may have put the secret itself there.
  try {
    const content = readFileSync(file, 'utf8').trim();
    if (content === '') {
      problems.push({ name: `${name}_FILE`, message: 'names a file that is empty' });
    }
    return content;
  } catch {
    problems.push({ name: `${name}_FILE`, message: 'names a file that cannot be read' });
    return undefined;
  }
}

/** Converts the issues of zod to problems, without the invalid values. */
export function toProblems(error: z.ZodError): ConfigurationProblem[] {
  return error.issues.map((issue) => ({
    name: issue.path.length === 0 ? '(whole)' : issue.path.map(String).join('.'),
    message: issue.message,
  }));
}

/** Only decimal digits. `Number` also accepts blanks, `0x10` and `1e3`. */
export const port = z
  .string()
  .regex(/^\d{1,5}$/, 'must be a port number')
  .transform(Number)
  .refine((value) => value <= 65_535, 'must be a port number');

/**
 * An absolute path. Unix socket addresses have at most 107 bytes (unix(7)), and a server adds 9.
 */
export const socketPath = z
  .string()
  .refine((path) => isAbsolute(path) && Buffer.byteLength(path) <= 98, {
    message: 'must be an absolute path of at most 98 bytes',
  });

/** An absolute http(s) URL without query, fragment or trailing slash. Paths are appended to it. */
export const baseUrl = z.string().refine(isBaseUrl, {
  message:
    'must be an http(s) address in normal form (lower case, no default port), without query, fragment, credentials or trailing slash',
});

export const logLevel = z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'], {
  message: 'must be fatal, error, warn, info, debug, trace or silent',
});

/** Addresses and CIDR ranges, separated by commas. */
export const addressList = z
  .string()
  .transform((text) => text.split(',').map((entry) => entry.trim()))
  .refine((entries) => entries.every(isAddressOrRange), {
    message: 'must be IP addresses or CIDR ranges, separated by commas',
  });

const MOST_WORKERS = 64;
const WORKERS_PROBLEM = `must be auto or a whole number, 1 to ${MOST_WORKERS}`;

/** `auto`: one for each core that this process may use. */
const workers = z
  .string()
  .regex(/^(?:auto|\d{1,2})$/, WORKERS_PROBLEM)
  .transform((text) => (text === 'auto' ? availableParallelism() : Number(text)))
  .refine((count) => count >= 1 && count <= MOST_WORKERS, WORKERS_PROBLEM);

/** The variables that every app reads. */
export const commonVariables = {
  HOST: z.string().default('127.0.0.1').describe('Address to listen on. `0.0.0.0` means all.'),
  DATA_DIR: z
    .string()
    .default('./data')
    .describe('Folder of the [files](#files) of the embedded mode.'),
  LOG_LEVEL: logLevel
    .default('info')
    .describe('`fatal`, `error`, `warn`, `info`, `debug`, `trace` or `silent`.'),
  OPERATIONS_PORT: port.optional().meta({
    description: '[Private port](#operations-port) of `/live`, `/ready` and `/metrics`.',
    default: "the server's port + 100",
  }),
  SHUTDOWN_DELAY_SECONDS: z
    .string()
    .regex(/^[0-5]$/, 'must be a whole number of seconds, 0 to 5')
    .transform(Number)
    .default(0)
    .describe('[Delay](#shutdown-delay) before closing, 0 to 5 s.'),
  MAXIMUM_CONNECTIONS: z.coerce
    .number('must be a number')
    .int('must be a whole number')
    .min(1, 'must be at least 1')
    .default(8192)
    .describe('Open connections of each worker. Each costs about 20 KiB.'),
  WORKERS: workers
    .default(1)
    .describe('[Processes](#workers) that serve requests: 1 to 64, or `auto`.'),
};

/** Requires the normal form, because peers compare it exactly (RFC 8414 §3.3, RFC 9068 §4). */
function isBaseUrl(text: string): boolean {
  const url = URL.parse(text);
  const path = url?.pathname === '/' ? '' : url?.pathname;
  return (
    url !== null &&
    (url.protocol === 'http:' || url.protocol === 'https:') &&
    text === `${url.origin}${path}` &&
    !text.endsWith('/')
  );
}
