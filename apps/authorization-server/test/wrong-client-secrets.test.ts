import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { failedSecretLimit } from '../src/throttle/limits.ts';
import { basic, bootstrap, requestToken, web } from './fixtures.ts';
import { outcome } from './grants-fixtures.ts';
import { type InProcessServer, startInProcess } from './in-process-server.ts';

let server: InProcessServer;
beforeAll(async () => {
  server = await startInProcess({ bootstrap });
});
afterAll(() => server.stop());

test.each([web.clientId, 'unknown'])(
  'After too many wrong secrets of the client %s, even the right one gets 429.',
  async (clientId) => {
    const request = async (secret: string) =>
      outcome(
        await requestToken(
          server.issuer,
          // Without the fast path, which leaves a request with another parameter to the provider.
          { grant_type: 'client_credentials', resource_owner: 'none' },
          { authorization: basic(clientId, secret) },
        ),
      );
    for (let i = 0; i < failedSecretLimit.attempts; i += 1) {
      expect(await request('a wrong secret 0123')).toEqual([401, 'invalid_client']);
    }
    expect(await request(web.secureKey)).toEqual([429, 'too_many_requests']);
  },
);
