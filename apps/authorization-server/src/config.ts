import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  bootstrapWarnings,
  checkServerSettings,
  deriveKey,
  identityVariables,
  lastingKey,
} from '@gatehouse/identity';
import {
  addressList,
  baseUrl,
  ConfigurationError,
  commonVariables,
  createProblemCollector,
  type Environment,
  effectiveSettings,
  isLoopbackUrl,
  parseEnvironment,
  port,
  rate,
  serverSettings,
  socketPath,
} from '@gatehouse/server/configuration';
import { z } from 'zod';
import { type MailSettings, mailAddress, smtpUrl } from './mail/mailer.ts';
import { clientEndpointLimit, pageLimit } from './throttle/limits.ts';

/** docs/configuration.md shows descriptions and defaults: npm run generate:docs. */
export const variables = z.object({
  ...commonVariables,
  ...identityVariables,
  AUTHORIZATION_SERVER_SOCKET: socketPath.optional().meta({
    description: 'Path of a [Unix socket](#unix-sockets) to listen on instead.',
    example: '/run/gatehouse/authorization-server.sock',
  }),
  AUTHORIZATION_SERVER_PORT: port.default(9000).describe('Port to listen on.'),
  AUTHORIZATION_SERVER_URL: baseUrl.optional().meta({
    description: 'Public URL and issuer. Must be https unless it is a loopback address.',
    default: '`http://localhost:` and the port',
    protects: true,
    example: 'http://localhost:9000',
  }),
  // One more release reads the file of cookie keys.
  COOKIE_KEYS_FILE: z.string().optional(),
  TRUSTED_PROXIES: addressList.optional(),
  CLIENT_ENDPOINT_RATE_LIMIT: rate.default(clientEndpointLimit).meta({
    description: '[Rate limit](#rate-limits) of the client endpoints, by address group.',
    protects: true,
  }),
  SMTP_URL: smtpUrl.optional().meta({
    description: 'Address of the [mail server](#mail), or its file in `SMTP_URL_FILE`.',
    default: 'none: no mails',
    secret: true,
    example: 'smtps://user:password@mail.example.com',
  }),
  MAIL_FROM: mailAddress.optional().meta({
    description: 'Sender of mails. Required with `SMTP_URL`.',
    example: 'Example <no-reply@example.com>',
  }),
  PAGE_RATE_LIMIT: rate.default(pageLimit).meta({
    description: '[Rate limit](#rate-limits) of the pages, by address group.',
    protects: true,
  }),
});

const COOKIE_KEYS_WARNING =
  'COOKIE_KEYS_FILE: its keys still verify cookies. The next release does not read it, because the key derives from the master key';

const REGISTRATION_WARNING =
  'BOOTSTRAP_FILE registration: is not offered without a mail server. Set SMTP_URL and MAIL_FROM';

/** These decide whether this is the embedded demo, and where it creates its files. */
const indispensable = [
  'AUTHORIZATION_SERVER_URL',
  'STORE_URL',
  'DATA_DIR',
  'BOOTSTRAP_FILE',
  'MASTER_KEY_FILE',
  'COOKIE_KEYS_FILE',
];

export type Configuration = ReturnType<typeof loadConfiguration>;

/** @throws ConfigurationError with every problem at once */
export function loadConfiguration(environment: Environment) {
  const problems = createProblemCollector();
  const read = parseEnvironment(variables, environment, problems, indispensable);
  const issuer =
    read.AUTHORIZATION_SERVER_URL ?? `http://localhost:${read.AUTHORIZATION_SERVER_PORT}`;
  // Not by the schema: without this variable, the other problems would not be found.
  if (!isLoopbackUrl(issuer) && !issuer.startsWith('https:')) {
    const message = 'must be https unless it is a loopback address';
    problems.add([{ name: 'AUTHORIZATION_SERVER_URL', message }]);
  }
  const mail = problems.attempt(() => mailSettings(read.SMTP_URL, read.MAIL_FROM));
  const formerKeys =
    problems.attempt(() => formerCookieKeys(read.COOKIE_KEYS_FILE, read.DATA_DIR)) ?? [];
  const { identity, bootstrap, dataDirectory, trustedProxies, warnings } = checkServerSettings(
    problems,
    environment,
    {
      ...{ read, publicUrl: issuer, cookieKeys: formerKeys, bootstraps: true },
      ...{ sockets: ['AUTHORIZATION_SERVER_SOCKET'], files: ['COOKIE_KEYS_FILE', 'SMTP_URL_FILE'] },
    },
  );
  const isOpen = Object.values(bootstrap?.registration?.organizations ?? {}).some(
    ({ open }) => open,
  );
  problems.throwIfAny();
  if (identity === undefined) {
    throw new Error('A step of the configuration failed without a problem.');
  }
  // A rotation of the master key keeps it, so that a rotation signs out no user.
  const cookieKey = deriveKey(lastingKey(identity.masterKey, 'credential-pepper'), 'cookies');
  return {
    ...serverSettings(read, read.AUTHORIZATION_SERVER_PORT, read.AUTHORIZATION_SERVER_SOCKET),
    dataDirectory,
    issuer,
    identity,
    /** The first key signs the browser's cookies. All of them verify. */
    cookieKeys: [cookieKey.toString('hex'), ...formerKeys],
    trustedProxies,
    bootstrap,
    clientRateLimit: read.CLIENT_ENDPOINT_RATE_LIMIT,
    pageRateLimit: read.PAGE_RATE_LIMIT,
    mail,
    /** For operators, without secrets. */
    settings: effectiveSettings(variables, environment),
    warnings: [
      ...warnings,
      ...bootstrapWarnings(bootstrap),
      ...(isOpen && mail === undefined ? [REGISTRATION_WARNING] : []),
      ...(formerKeys.length > 0 && read.COOKIE_KEYS_FILE ? [COOKIE_KEYS_WARNING] : []),
    ],
  };
}

/** @throws ConfigurationError if one is set without the other */
function mailSettings(
  url: string | undefined,
  from: MailSettings['from'] | undefined,
): MailSettings | undefined {
  if (url === undefined || from === undefined) {
    if (url !== undefined) {
      const message = 'is required with SMTP_URL. Set the sender of mails';
      throw new ConfigurationError([{ name: 'MAIL_FROM', message }]);
    }
    return undefined;
  }
  return { url, from };
}

/** The keys of an earlier release, one a line. They still verify the cookies of signed-in users. */
function formerCookieKeys(named: string | undefined, dataDirectory: string): readonly string[] {
  const file = named ?? join(dataDirectory, 'cookie.keys');
  const problem = (message: string) =>
    new ConfigurationError([{ name: 'COOKIE_KEYS_FILE', message }]);
  if (!existsSync(file)) {
    if (named === undefined) {
      return [];
    }
    throw problem('the file is missing. Unset the variable');
  }
  const text = readFileSync(file, 'utf8');
  const keys = text.split(/\s+/).filter((key) => key !== '');
  if (keys.some((key) => key.length < 32)) {
    throw problem('the file must hold keys of 32 or more characters, one a line');
  }
  return keys;
}
