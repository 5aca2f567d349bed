import { join } from 'node:path';
import { identityVariables } from '@gatehouse/identity';
import {
  addressList,
  baseUrl,
  commonVariables,
  type Environment,
  operationsPortOf,
  parseVariables,
  port,
} from '@gatehouse/server/configuration';
import { z } from 'zod';

const variables = z.object({
  ...identityVariables,
  DATA_DIR: commonVariables.DATA_DIR,
  OPERATIONS_PORT: commonVariables.OPERATIONS_PORT,
  AUTHORIZATION_SERVER_PORT: port.default(9000),
  AUTHORIZATION_SERVER_URL: baseUrl.optional(),
  GATEWAY_PORT: port.default(8844),
  GATEWAY_URL: baseUrl.optional(),
  DEVICE_SERVICE_PORT: port.default(8850),
  TRUSTED_PROXIES: addressList.optional(),
  COOKIE_KEYS_FILE: z.string().optional(),
  DATABASE_URL: z.string().optional(),
});

export interface PublicServer {
  readonly name: 'authorization server' | 'gateway';
  /** The variable that names its address. */
  readonly variable: 'AUTHORIZATION_SERVER_URL' | 'GATEWAY_URL';
  readonly url: string;
}

/** The installation that the environment describes, as the servers read it. */
export interface Installation {
  readonly environment: Environment;
  readonly variables: z.infer<typeof variables>;
  readonly dataDirectory: string;
  readonly servers: readonly PublicServer[];
  /** The operations ports of the apps on this machine. */
  readonly operationsPorts: Readonly<Record<string, number>>;
}

/** @throws ConfigurationError that lists every invalid variable */
export function readInstallation(environment: Environment): Installation {
  const read = parseVariables(variables, environment);
  const { AUTHORIZATION_SERVER_PORT, GATEWAY_PORT, DEVICE_SERVICE_PORT } = read;
  const localUrl = (portNumber: number) => `http://localhost:${portNumber}`;
  return {
    environment,
    variables: read,
    dataDirectory: read.DATA_DIR,
    servers: [
      {
        name: 'authorization server',
        variable: 'AUTHORIZATION_SERVER_URL',
        url: read.AUTHORIZATION_SERVER_URL ?? localUrl(AUTHORIZATION_SERVER_PORT),
      },
      {
        name: 'gateway',
        variable: 'GATEWAY_URL',
        url: read.GATEWAY_URL ?? localUrl(GATEWAY_PORT),
      },
    ],
    operationsPorts:
      read.OPERATIONS_PORT === undefined
        ? {
            'authorization server': operationsPortOf(AUTHORIZATION_SERVER_PORT),
            gateway: operationsPortOf(GATEWAY_PORT),
            'device service': operationsPortOf(DEVICE_SERVICE_PORT),
          }
        : { 'app at OPERATIONS_PORT': read.OPERATIONS_PORT },
  };
}

/** The master key that the servers use. */
export function masterKeyFile({ variables: { MASTER_KEY_FILE }, dataDirectory }: Installation) {
  return MASTER_KEY_FILE ?? join(dataDirectory, 'master.key');
}
