import { credentialKey } from '@gatehouse/identity';
import { StoreUnavailableError } from '@gatehouse/store';
import { afterEach, expect, test } from '@jest/globals';
import { basic, bootstrap, requestToken, web } from './fixtures.ts';
import { type InProcessServer, startInProcess } from './in-process-server.ts';

let server: InProcessServer;
afterEach(() => server.stop());

/** Starts a server whose store rejects each write of a kind of keys. */
async function startWithError(write: 'set' | 'increment', prefix: string, error: Error) {
  server = await startInProcess({
    bootstrap,
    aroundStore: (run, operation, key) =>
      operation === write && key.startsWith(prefix) ? Promise.reject(error) : run(),
  });
}

const requestWith = (secret: string) =>
  requestToken(
    server.issuer,
    // The fast path leaves a request with another parameter to the provider.
    { grant_type: 'client_credentials', resource_owner: 'none' },
    { authorization: basic(web.clientId, secret) },
  );

const unavailable = new StoreUnavailableError('increment', undefined);
test.each([
  ['A defect', new Error('a defect'), 500, 'server_error', 'unexpected_error'],
  ['An unavailable store', unavailable, 503, 'temporarily_unavailable', 'store_unavailable'],
])(
  '%s is logged but not described in the reply if the error is thrown outside the library.',
  async (_what, error, status, code, reason) => {
    // Gatehouse counts a wrong secret after the library has finished its reply.
    await startWithError('increment', 'failed-secrets:', error);
    const reply = await requestWith('a wrong secret 0123');
    expect([reply.status, reply.body]).toEqual([
      status,
      { error: code, error_description: 'Try again shortly.' },
    ]);
    expect(reply.headers.get('retry-after')).toBe(status === 503 ? '1' : null);
    const [line] = server.logLines();
    expect(line).toMatchObject({ status, code, reason, err: { message: error.message } });
  },
);

test('A defect is logged but not described in the reply if the library catches the error.', async () => {
  await startWithError('set', credentialKey('ClientCredentials', ''), new Error('a defect'));
  const { status, body } = await requestWith(web.secureKey);
  expect([status, body]).toEqual([
    500,
    { error: 'server_error', error_description: 'oops! something went wrong' },
  ]);
  const [line] = server.logLines();
  expect(line).toMatchObject({
    status,
    code: 'server_error',
    reason: 'unexpected_error',
    err: { message: 'a defect' },
  });
});
