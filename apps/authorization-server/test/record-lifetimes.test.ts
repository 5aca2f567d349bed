import { createHash, randomBytes } from 'node:crypto';
import { authorizeAsUser, createPageVisitor } from '@gatehouse/testing';
import { afterEach, describe, expect, test } from '@jest/globals';
import { recordKey } from '../src/provider/oidc-adapter.ts';
import { alice, authorizationUrl } from './fixtures.ts';
import { type InProcessServer, startInProcess } from './in-process-server.ts';
import { bootstrap, openPage } from './page-fixtures.ts';

const MINUTE = 60;
const DAY = 24 * 60 * MINUTE;

describe('the lifetime of a record', () => {
  let server: InProcessServer;

  afterEach(() => server.stop());

  /** Seconds until the record expires, to the nearest ten. */
  async function secondsLeft(model: string, value: string): Promise<number> {
    const { identity, store } = server;
    const key = recordKey(model, value, identity.credentialHash);
    const text = (await store.get(key)) ?? '';
    const { exp } = JSON.parse(text.startsWith('{') ? text : identity.sealer.open(text, key));
    return Math.round((exp - Date.now() / 1000) / 10) * 10;
  }

  test.each([
    ['compatible', 10 * MINUTE],
    ['strict', MINUTE],
  ] as const)('of a code ends soon, under the %s profile', async (profile, lifetime) => {
    server = await startInProcess({ bootstrap, securityProfile: profile });
    const verifier = randomBytes(32).toString('base64url');
    const url = authorizationUrl(server.issuer, {
      code_challenge: createHash('sha256').update(verifier).digest('base64url'),
      code_challenge_method: 'S256',
    });
    const landing = await authorizeAsUser(url, alice);
    const code = landing.searchParams.get('code') ?? '';
    expect(await secondsLeft('AuthorizationCode', code)).toBe(lifetime);
  });

  test('is 14 days for a session', async () => {
    server = await startInProcess({ bootstrap });
    const visitor = createPageVisitor();
    await openPage(visitor, `${server.issuer}/account`);
    const id = visitor.cookies.get('session|/') ?? '';
    expect(await secondsLeft('Session', id)).toBe(14 * DAY);
  });
});
