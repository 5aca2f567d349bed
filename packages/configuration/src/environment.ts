import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { z } from 'zod';
import { ConfigurationError, type ConfigurationProblem } from './configuration-error.ts';

/** The process environment as `main.ts` hands it over. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Variables that may carry a password: each may come as `NAME_FILE`, the path of a file that holds it. */
const secretVariables = ['STORE_URL', 'DATABASE_URL'];

/**
 * Checks the environment against a schema of the variables an app reads. Empty text counts as not set,
 * as compose files and shells produce it.
 *
 * @throws ConfigurationError naming every wrong variable at once
 */
export function parseEnvironment<Schema extends z.ZodObject>(
  schema: Schema,
  environment: Environment,
): z.infer<Schema> {
  const problems: ConfigurationProblem[] = [];
  const values: Record<string, string> = {};
  for (const name of Object.keys(schema.shape)) {
    const value = secretVariables.includes(name)
      ? readSecret(name, environment, problems)
      : environment[name];
    if (value !== undefined && value !== '') {
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
  const file = environment[`${name}_FILE`];
  if (file === undefined || file === '') {
    return environment[name];
  }
  if (environment[name] !== undefined) {
    problems.push({ name, message: `give either ${name} or ${name}_FILE` });
  }
  try {
    return readFileSync(file, 'utf8').trim();
  } catch {
    problems.push({ name: `${name}_FILE`, message: `${file} cannot be read` });
    return undefined;
  }
}

/** Zod's issues as problems: the path and what is expected there, without the offending value. */
export function toProblems(error: z.ZodError): ConfigurationProblem[] {
  return error.issues.map((issue) => ({
    name: issue.path.length === 0 ? '(whole)' : issue.path.map(String).join('.'),
    message: issue.message,
  }));
}

export const port = z.coerce
  .number('must be a port number')
  .int('must be a port number')
  .min(0, 'must be a port number')
  .max(65_535, 'must be a port number');

/** An absolute http(s) address without query, fragment or trailing slash: the base that paths are added to. */
export const baseUrl = z.string().refine(isBaseUrl, {
  message: 'must be an http(s) address without query, fragment, credentials or trailing slash',
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

/** The variables every app reads. */
export const commonVariables = {
  HOST: z.string().default('127.0.0.1'),
  DATA_DIR: z.string().default('./data'),
  LOG_LEVEL: logLevel.default('info'),
  OPERATIONS_PORT: port.optional(),
};

function isBaseUrl(text: string): boolean {
  const url = URL.parse(text);
  return (
    url !== null &&
    (url.protocol === 'http:' || url.protocol === 'https:') &&
    url.username === '' &&
    url.password === '' &&
    url.search === '' &&
    url.hash === '' &&
    !text.endsWith('/')
  );
}

function isAddressOrRange(text: string): boolean {
  const [address = '', prefix, ...rest] = text.split('/');
  const family = isIP(address);
  if (family === 0 || rest.length > 0) {
    return false;
  }
  return (
    prefix === undefined ||
    (/^\d{1,3}$/.test(prefix) && Number(prefix) <= (family === 4 ? 32 : 128))
  );
}
