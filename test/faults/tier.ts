import { manyUsers, startConstellation, userClient } from '@gatehouse/testing';

/**
 * An authorization server, a gateway and a device service as processes, with a Redis that the test
 * can break.
 */
export interface Tier {
  readonly issuer: string;
  readonly gateway: string;
  /** The output of the apps, which must not contain a token. */
  output(): Promise<string>;
  stop(): Promise<void>;
}

export const PEOPLE = 4;
export const person = (index: number) => userClient(index % PEOPLE);

export async function startTier(
  storeUrl: string,
  environment: Readonly<Record<string, string>> = {},
): Promise<Tier> {
  const constellation = await startConstellation({
    engine: { storeUrl, storedText: async () => '', stop: async () => undefined },
    bootstrap: manyUsers(PEOPLE),
    environment: {
      TRUSTED_PROXIES: '127.0.0.1,::1',
      CLIENT_ENDPOINT_RATE_LIMIT: '1000000/60',
      PAGE_RATE_LIMIT: '1000000/60',
      LOG_LEVEL: 'info',
      ...environment,
    },
  });
  return {
    issuer: constellation.authorizationServerUrl,
    gateway: constellation.gatewayUrl,
    output: () => constellation.output(),
    stop: () => constellation.stop(),
  };
}
