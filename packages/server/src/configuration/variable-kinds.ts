import { availableParallelism } from 'node:os';
import { isAbsolute } from 'node:path';
import { z } from 'zod';

/** Only decimal digits. `Number` also accepts blanks, `0x10` and `1e3`. */
export function wholeNumber(minimum: number, maximum: number) {
  const message = `must be a whole number, ${minimum} to ${maximum}`;
  const isInRange = (text: string) => Number(text) >= minimum && Number(text) <= maximum;
  return z
    .string()
    .refine((text) => /^\d{1,9}$/.test(text) && isInRange(text), message)
    .transform(Number);
}

export const port = wholeNumber(0, 65_535);

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

/** Credentials must not cross a network without encryption. */
export const protectedUrl = baseUrl.refine(
  (url) => !URL.canParse(url) || isLoopbackUrl(url) || url.startsWith('https:'),
  { message: 'must be https unless it is a loopback address' },
);

/** Addresses and CIDR ranges, separated by commas. */
export const addressList = z
  .string()
  .transform((text) => text.split(',').map((entry) => entry.trim()))
  .refine((entries) => entries.every(isAddressOrRange), {
    message: 'must be IP addresses or CIDR ranges, separated by commas',
  });

/** `3000/60`: 3000 requests in 60 seconds. */
export const rate = z
  .string()
  .regex(/^[1-9]\d{0,11}\/[1-9]\d{0,4}$/, 'must be requests/seconds, such as 3000/60')
  .transform((text) => {
    const [requests, windowSeconds] = text.split('/').map(Number);
    return { requests: Number(requests), windowSeconds: Number(windowSeconds) };
  });

/** `auto`: one for each core that this process may use. */
const workers = z.union(
  [z.literal('auto').transform(() => availableParallelism()), wholeNumber(1, 64)],
  'must be auto or a whole number, 1 to 64',
);

/** The variables that every app reads. */
export const commonVariables = {
  HOST: z.string().default('127.0.0.1').describe('Address to listen on. `0.0.0.0` means all.'),
  DATA_DIR: z.string().default('./data').meta({
    description: 'Folder of the [files](#files) of the embedded mode.',
    protects: true,
  }),
  LOG_LEVEL: z
    .enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'])
    .default('info')
    .describe('`fatal`, `error`, `warn`, `info`, `debug`, `trace` or `silent`.'),
  OPERATIONS_PORT: port.optional().meta({
    description: '[Private port](#operations-port) of `/live`, `/ready` and `/metrics`.',
    default: "the server's port + 100",
    example: 9100,
  }),
  SHUTDOWN_DELAY_SECONDS: wholeNumber(0, 5)
    .default(0)
    .describe('[Delay](#shutdown-delay) before closing, 0 to 5 s.'),
  // One more release reads it.
  MAXIMUM_CONNECTIONS: wholeNumber(1, 999_999_999).default(8192),
  WORKERS: workers.default(1).meta({
    description: '[Processes](#workers) that serve requests: 1 to 64, or `auto`.',
    example: 'auto',
  }),
};

/** What the common variables, and the port or Unix socket of its own, make of a server. */
export function serverSettings(
  common: z.infer<z.ZodObject<typeof commonVariables>>,
  ownPort: number,
  ownSocketPath: string | undefined,
) {
  return {
    host: common.HOST,
    port: ownPort,
    /** Path of a Unix socket to serve on, instead of host and port. */
    socketPath: ownSocketPath,
    operationsPort: common.OPERATIONS_PORT ?? operationsPortOf(ownPort),
    logLevel: common.LOG_LEVEL,
    /** How long it still accepts connections after it reported that it is not ready. */
    shutdownDelayMilliseconds: common.SHUTDOWN_DELAY_SECONDS * 1000,
    maximumConnections: common.MAXIMUM_CONNECTIONS,
    /** Processes that serve requests. With one, the process of the app serves them itself. */
    workers: common.WORKERS,
  };
}

/** Requires the normal form, because peers compare it exactly (RFC 8414 §3.3, RFC 9068 §4). */
function isBaseUrl(text: string): boolean {
  const { protocol = '', origin, pathname = '' } = URL.parse(text) ?? {};
  return (
    /^https?:$/.test(protocol) &&
    text === `${origin}${pathname === '/' ? '' : pathname}` &&
    !text.endsWith('/')
  );
}

/**
 * Returns whether a text is an IP address or a CIDR range. Ranges of `/0` are rejected, because
 * they trust every peer. Zones (`%eth0`) are rejected, because forwarded addresses have none.
 */
export function isAddressOrRange(text: string): boolean {
  return !text.endsWith('/0') && addressOrRange.safeParse(text).success;
}

const addressOrRange = z.union([z.ipv4(), z.ipv6(), z.cidrv4(), z.cidrv6()]);

/**
 * Returns whether a URL is a loopback address. All other addresses are production: https, `__Host-`
 * cookies, no demo, and no key files that other users can read.
 */
export function isLoopbackUrl(url: string): boolean {
  const { hostname } = new URL(url);
  return hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d+){3}$/.test(hostname);
}

/**
 * The operations port that an app uses by default: 100 above its own port, or below if there is no
 * such port. Port 0 selects any free port for both.
 */
export function operationsPortOf(appPort: number): number {
  const offset = appPort > 65_435 ? -100 : 100;
  return appPort === 0 ? 0 : appPort + offset;
}
