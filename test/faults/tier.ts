import { redisAccessRule } from '@gatehouse/store';
import {
  type Constellation,
  makeCertificate,
  manyUsers,
  type TopologySecurity,
  userClient,
} from '@gatehouse/testing';
import { startSystem, temporaryFolder } from '@gatehouse/testing/suite';

export type Tier = Pick<Constellation, 'authorizationServerUrl' | 'gatewayUrl'>;

const PEOPLE = 4;
export const person = (index: number) => userClient(index % PEOPLE);

/** TLS with a private authority, and a Redis user with exactly the documented rights. */
export function makeSecurity(): TopologySecurity {
  const certificate = makeCertificate(temporaryFolder(), ['127.0.0.1', 'localhost']);
  return { certificate, accessRule: redisAccessRule };
}

/** Starts the apps with a Redis that the test can break. */
export function startTier(storeUrl: string, security?: TopologySecurity): Promise<Constellation> {
  return startSystem({
    engine: { storeUrl, storedText: async () => '', stop: async () => undefined },
    bootstrap: manyUsers(PEOPLE),
    environment: {
      TRUSTED_PROXIES: '127.0.0.1,::1',
      CLIENT_ENDPOINT_RATE_LIMIT: '1000000/60',
      PAGE_RATE_LIMIT: '1000000/60',
      LOG_LEVEL: 'info',
      ...(security && { NODE_EXTRA_CA_CERTS: security.certificate.certificateFile }),
    },
  });
}
