import {
  addressList,
  baseUrl,
  commonVariables,
  type Environment,
  parseEnvironment,
  port,
} from '@gatehouse/configuration';
import {
  type IdentitySettings,
  identityVariables,
  isLoopbackUrl,
  resolveIdentitySettings,
} from '@gatehouse/identity';
import { z } from 'zod';

/** The operations port of an app, unless set, is its port and this. */
const OPERATIONS_PORT_OFFSET = 100;
const HIGHEST_PORT = 65_535;

const variables = z
  .object({
    ...commonVariables,
    ...identityVariables,
    GATEWAY_PORT: port.default(8844),
    GATEWAY_URL: baseUrl
      .refine(isProtected, { message: 'must be https unless it is a loopback address' })
      .optional(),
    DEVICE_SERVICE_URL: baseUrl.default('http://localhost:8850'),
    TRUSTED_PROXIES: addressList.default([]),
    SIGNATURE_TOLERANCE_SECONDS: z.coerce
      .number('must be a number of seconds')
      .int('must be a number of seconds')
      .min(1, 'must be at least 1')
      .max(3600, 'must be at most 3600')
      .default(300),
  })
  .refine((set) => set.OPERATIONS_PORT !== undefined || hasRoom(set.GATEWAY_PORT), {
    path: ['OPERATIONS_PORT'],
    message: `must be set, because GATEWAY_PORT + ${OPERATIONS_PORT_OFFSET} is no port`,
    when: () => true,
  });

export interface GatewayConfiguration {
  readonly host: string;
  readonly port: number;
  readonly operationsPort: number;
  readonly dataDirectory: string;
  readonly logLevel: string;
  /** The public address: issuer of the internal tokens, and what services see in X-Forwarded-Host. */
  readonly publicUrl: string;
  readonly deviceServiceUrl: string;
  readonly trustedProxies: readonly string[];
  readonly signatureToleranceMilliseconds: number;
  readonly identity: IdentitySettings;
}

/** @throws ConfigurationError with every problem at once */
export function loadConfiguration(environment: Environment): GatewayConfiguration {
  const read = parseEnvironment(variables, environment);
  const publicUrl = read.GATEWAY_URL ?? `http://localhost:${read.GATEWAY_PORT}`;
  return {
    host: read.HOST,
    port: read.GATEWAY_PORT,
    operationsPort: read.OPERATIONS_PORT ?? operationsPortOf(read.GATEWAY_PORT),
    dataDirectory: read.DATA_DIR,
    logLevel: read.LOG_LEVEL,
    publicUrl,
    deviceServiceUrl: read.DEVICE_SERVICE_URL,
    trustedProxies: read.TRUSTED_PROXIES,
    signatureToleranceMilliseconds: read.SIGNATURE_TOLERANCE_SECONDS * 1000,
    identity: resolveIdentitySettings(read),
  };
}

/** Port 0 asks for any free one, and so does its operations port. */
function operationsPortOf(appPort: number): number {
  return appPort === 0 ? 0 : appPort + OPERATIONS_PORT_OFFSET;
}

function hasRoom(appPort: unknown): boolean {
  return typeof appPort !== 'number' || operationsPortOf(appPort) <= HIGHEST_PORT;
}

/** Credentials cross no network in the clear. */
function isProtected(url: string): boolean {
  return !URL.canParse(url) || isLoopbackUrl(url) || url.startsWith('https:');
}
