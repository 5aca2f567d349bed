// requires: redis-server

import { describe, expect, test } from '@jest/globals';
import { alice, basic, requestToken } from './fixtures.ts';
import {
  full,
  isActive,
  outcome,
  refreshing,
  requestPlatformToken,
  startGrantsSystems,
} from './grants-fixtures.ts';

const asFull = basic(full.clientId, full.secureKey);

const systems = await startGrantsSystems({ SECURITY_PROFILE: 'strict' });

describe.each(systems)('the strict profile on $engine', ({ system }) => {
  const newTokens = async () => {
    const grant = { grant_type: 'client_credentials' };
    return (await requestPlatformToken(system.first, grant, { authorization: asFull })).body;
  };
  const refresh = (token: string, server = system.first) =>
    requestPlatformToken(server, refreshing(token), { authorization: asFull });

  test('has no password grant, and does not advertise it', async () => {
    const reply = await requestToken(
      system.first,
      { grant_type: 'password', ...alice },
      { authorization: asFull },
    );
    expect(outcome(reply)).toEqual([400, 'unsupported_grant_type']);
    const metadata = await fetch(`${system.first}/.well-known/openid-configuration`);
    const { grant_types_supported: supported } = (await metadata.json()) as Record<string, unknown>;
    expect(supported).not.toContain('password');
  });

  test('accepts one of ten concurrent refreshes over two processes', async () => {
    const { refresh_token: token } = await newTokens();
    const replies = await Promise.all(
      Array.from({ length: 10 }, (_, i) => refresh(token, i % 2 ? system.first : system.second)),
    );
    const winners = replies.filter(({ status }) => status === 200);
    expect(winners).toHaveLength(1);
    for (const loser of replies.filter(({ status }) => status !== 200)) {
      expect(outcome(loser)).toEqual([400, 'invalid_grant']);
    }
  });

  test('has no grace period, so reusing a token revokes its family at once', async () => {
    const { refresh_token: token } = await newTokens();
    const { body } = await refresh(token);
    expect(outcome(await refresh(token))).toEqual([400, 'invalid_grant']);
    expect(outcome(await refresh(body.refresh_token))).toEqual([400, 'invalid_grant']);
    expect(await isActive(system.first, body.access_token, asFull)).toBe(false);
  });
});
