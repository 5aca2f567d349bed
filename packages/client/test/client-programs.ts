/** The programs in `programs/`, which every platform runs in the same way. */
import { expect } from '@jest/globals';

export interface ClientProgram {
  readonly title: string;
  readonly file: string;
  /** Added to the settings of the client `demo`. */
  readonly changes?: object;
  /** What the program prints, as JSON. */
  readonly printed: object;
}

export const secureKey = 'clientKey0123456789abcdefgh';

const client = (clientId: string, signatureAlgorithm: string, corsOrigins: readonly string[]) => ({
  ...{ clientId, secureKey, name: clientId, orgId: 'demo', signatureAlgorithm, corsOrigins },
  grantTypes: ['client_credentials'],
  scopes: ['device:read', 'device:write', 'device:log', 'device:report'],
});

/** The clients of the programs. */
export const bootstrapOfPrograms = (...corsOrigins: readonly string[]) => ({
  organizations: [{ id: 'demo', name: 'Demo' }],
  clients: [client('demo', 'SHA-256', corsOrigins), client('md5', 'MD5', corsOrigins)],
});

/** The JSON that a program reads from its arguments. */
export const settingsOfPrograms = (system: {
  readonly gatewayUrl: string;
  readonly authorizationServerUrl: string;
}) => ({
  gateway: system.gatewayUrl,
  tokenEndpoint: `${system.authorizationServerUrl}/token`,
  clientId: 'demo',
  secureKey,
});

const version1 = { list: [], count: expect.any(Number) };

export const clientPrograms: readonly ClientProgram[] = [
  {
    title: 'signs with version 2',
    file: 'signed-version-2.mjs',
    printed: { list: [], missing: 404 },
  },
  {
    title: 'signs with version 1 and SHA-256',
    file: 'signed-version-1.mjs',
    printed: version1,
  },
  {
    title: 'signs with version 1 and MD5',
    file: 'signed-version-1.mjs',
    changes: { clientId: 'md5', digest: 'MD5' },
    printed: version1,
  },
  {
    title: 'gets an access token, and reports an OAuth error',
    file: 'token.mjs',
    printed: { lists: [[], []], isError: true, code: 'invalid_client' },
  },
  {
    title: 'gets an X-Access-Token',
    file: 'access-token.mjs',
    printed: { list: [] },
  },
  {
    title: 'iterates over pages of devices, and reports logs in batches',
    file: 'devices.mjs',
    printed: {
      created: 5,
      pages: [['p-1', 'p-2'], ['p-3', 'p-4'], ['p-5']],
      reported: 1500,
      batches: [1000, 500],
      tag: 'north',
      offline: 5,
      failed: 0,
      code: 'not_found',
    },
  },
];
