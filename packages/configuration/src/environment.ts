import { isIP } from 'node:net';
import { z } from 'zod';
import { ConfigurationError, type ConfigurationProblem } from './configuration-error.ts';

/** The process environment as `main.ts` hands it over. */
export type Environment = Readonly<Record<string, string | undefined>>;

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
  const set = Object.fromEntries(
    Object.keys(schema.shape)
      .map((name) => [name, environment[name]] as const)
      .filter(([, value]) => value !== undefined && value !== ''),
  );
  const parsed = schema.safeParse(set);
  if (!parsed.success) {
    throw new ConfigurationError(toProblems(parsed.error));
  }
  return parsed.data;
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
