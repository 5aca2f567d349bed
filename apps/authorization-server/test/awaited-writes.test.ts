/** A reply must not arrive before the store has what the reply reports. */
import { setTimeout as sleep } from 'node:timers/promises';
import { grantTombstoneKey } from '@gatehouse/identity';
import { type Around, createPageVisitor } from '@gatehouse/testing';
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { endedSessionKey } from '../src/provider/lifetimes.ts';
import { alice, basic, requestToken, web } from './fixtures.ts';
import { grantsBootstrap, outcome, refreshing, requestPlatformToken } from './grants-fixtures.ts';
import { type InProcessServer, startInProcess } from './in-process-server.ts';
import { openPage, tokensFor } from './page-fixtures.ts';

/** Longer than a reply takes to arrive. */
const DELAY_MILLISECONDS = 300;

/** Writes of keys with this prefix are slow. */
let slow: string | undefined;
/** The slow writes that have started, and those of them that have ended. */
let started = 0;
let ended = 0;

const delayed: Around = async (run, operation, key) => {
  if (slow === undefined || !key.startsWith(slow) || !/^(set|increment)$/.test(operation)) {
    return run();
  }
  started += 1;
  await sleep(DELAY_MILLISECONDS);
  const result = await run();
  ended += 1;
  return result;
};

let server: InProcessServer;
beforeAll(async () => {
  server = await startInProcess({ bootstrap: grantsBootstrap, aroundStore: delayed });
});
afterAll(() => server.stop());
beforeEach(() => {
  started = 0;
  ended = 0;
});

const expectOneWritten = () => expect([started, ended]).toEqual([1, 1]);

test('The reply to a wrong secret arrives after the attempt was counted.', async () => {
  slow = 'failed-secrets:';
  // The fast path leaves a request with another parameter to the provider.
  const request = { grant_type: 'client_credentials', resource_owner: 'none' };
  const reply = await requestToken(server.issuer, request, {
    authorization: basic(web.clientId, 'a wrong secret 0123'),
  });
  expect(outcome(reply)).toEqual([401, 'invalid_client']);
  expectOneWritten();
});

test.each([
  ['session', endedSessionKey('')],
  ['grant', grantTombstoneKey('')],
])(
  'The reply to a sign-out arrives after the end of its %s was written.',
  async (_what, prefix) => {
    slow = prefix;
    const visitor = createPageVisitor();
    await tokensFor(server.issuer, visitor, alice);
    const question = await openPage(visitor, `${server.issuer}/logout`);
    const reply = await visitor.submit(question, { logout: 'yes' });
    expect([reply.status, reply.location]).toEqual([303, `${server.issuer}/logout/success`]);
    expectOneWritten();
  },
);

test('The reply to a replayed refresh token of a machine arrives after its grant has ended.', async () => {
  slow = grantTombstoneKey('');
  const ask = (parameters: object) =>
    requestPlatformToken(server.issuer, parameters, {
      authorization: basic(web.clientId, web.secureKey),
    });
  const first = (await ask({ grant_type: 'client_credentials' })).body.refresh_token;
  const second = (await ask(refreshing(first))).body.refresh_token;
  // The use of the successor ends the grace of its predecessor.
  expect(outcome(await ask(refreshing(second)))).toEqual([200, undefined]);
  expect(outcome(await ask(refreshing(first)))).toEqual([400, 'invalid_grant']);
  expectOneWritten();
});
