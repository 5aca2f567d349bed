/** A reply never arrives before the store has what it reports, and never describes an error. */
import { setTimeout as sleep } from 'node:timers/promises';
import { credentialKey, endedSessionKey, grantTombstoneKey } from '@gatehouse/identity';
import { StoreUnavailableError } from '@gatehouse/store';
import { createPageVisitor } from '@gatehouse/testing';
import { expect, test } from '@jest/globals';
import { startInProcess } from './in-process-server.ts';
import { alice, web } from './installation.ts';
import { as, asWeb, machineGrant, outcome, refreshing } from './server.ts';

/** Longer than a reply takes to arrive. */
const DELAY_MILLISECONDS = 100;

/** Writes of keys with this prefix are slow, or throw this error. */
let affected: { readonly prefix: string; readonly error?: Error } | undefined;
/** The slow writes that have started, and those of them that have ended. */
let started = 0;
let ended = 0;
const server = await startInProcess({
  async aroundStore(run, operation, key) {
    const isWrite = operation === 'set' || operation === 'increment';
    if (affected === undefined || !isWrite || !key.startsWith(affected.prefix)) {
      return run();
    }
    if (affected.error !== undefined) {
      throw affected.error;
    }
    started += 1;
    await sleep(DELAY_MILLISECONDS);
    const result = await run();
    ended += 1;
    return result;
  },
});
const { issuer, open, platform, token, tokensFor } = server;

/** The fast path leaves a request with another parameter to the provider. */
const askProvider = (secureKey: string) =>
  token({ ...machineGrant, unknown: '1' }, as({ ...web, secureKey }));

const slowly: readonly [string, string, () => Promise<void>][] = [
  [
    'a wrong secret arrives after the attempt was counted',
    'failed-secrets:',
    async () => {
      expect(outcome(await askProvider('a wrong secret 0123'))).toEqual([401, 'invalid_client']);
    },
  ],
  ['a sign-out arrives after the end of its session was written', endedSessionKey(''), signOut],
  ['a sign-out arrives after the end of its grant was written', grantTombstoneKey(''), signOut],
  [
    'a replayed refresh token of a machine arrives after its grant has ended',
    grantTombstoneKey(''),
    async () => {
      const refresh = (value: string) => platform(refreshing(value), asWeb);
      const first = (await platform(machineGrant, asWeb)).body.refresh_token;
      const second = (await refresh(first)).body.refresh_token;
      // The use of the successor ends the grace of its predecessor.
      expect((await refresh(second)).status).toBe(200);
      expect(outcome(await refresh(first))).toEqual([400, 'invalid_grant']);
    },
  ],
];

async function signOut(): Promise<void> {
  const visitor = createPageVisitor();
  await tokensFor({}, alice, visitor);
  const reply = await visitor.submit(await open(visitor, '/logout'), { logout: 'yes' });
  expect([reply.status, reply.location]).toEqual([303, `${issuer}/logout/success`]);
}

test.each(slowly)('the reply to %s', async (_what, prefix, act) => {
  [started, ended] = [0, 0];
  affected = { prefix };
  await act();
  affected = undefined;
  expect([started, ended]).toEqual([1, 1]);
});

const [defect, unavailable] = [
  new Error('a defect'),
  new StoreUnavailableError('increment', undefined),
];
// Gatehouse counts a wrong secret after the library has finished its reply.
const [COUNTER, TOKEN] = ['failed-secrets:', credentialKey('ClientCredentials', '')];
const [AGAIN, OOPS] = ['Try again shortly.', 'oops! something went wrong'];
test.each([
  ['A defect after the library', COUNTER, defect, [500, 'server_error'], 'unexpected_error', AGAIN],
  [
    ...(['An unavailable store after the library', COUNTER, unavailable] as const),
    ...([[503, 'temporarily_unavailable'], 'store_unavailable', AGAIN] as const),
  ],
  ['A defect in the library', TOKEN, defect, [500, 'server_error'], 'unexpected_error', OOPS],
])(
  '%s is logged but not described in the reply',
  async (_what, prefix, error, failure, reason, text) => {
    affected = { prefix, error };
    const reply = await askProvider(prefix === TOKEN ? web.secureKey : 'a wrong secret 0123');
    affected = undefined;
    const [status, code] = failure;
    expect([reply.status, reply.body]).toEqual([status, { error: code, error_description: text }]);
    if (status === 503) {
      expect(reply.headers.get('retry-after')).toBe('1');
    }
    const line = server.logLines().at(-1);
    expect(line).toMatchObject({ status, code, reason, err: { message: error.message } });
  },
);

const broken = await startInProcess();

test('without the store, pages fail closed, and pages that need none are available', async () => {
  await broken.store.close();
  const needingStore = [
    ...['/authorize?response_type=code&client_id=web', '/account', '/account/password'],
    ...['/sign-in/some-interaction', '/device', '/logout'],
  ];
  const replies = [
    ...(await Promise.all(needingStore.map((path) => broken.get(path)))),
    await broken.post('/account/revoke', { csrf: 'x' }, {}),
    await broken.post('/device', { user_code: 'BCDFGHJK' }, {}),
  ];
  for (const { status, headers, body } of replies) {
    expect([status, headers.get('retry-after')]).toEqual([503, '1']);
    expect(body).toMatch(/<h1>[\s\S]*temporarily unavailable/);
  }
  for (const path of ['/', '/assets/pages.css', '/logout/success']) {
    expect([path, (await broken.get(path)).status]).toEqual([path, 200]);
  }
});
