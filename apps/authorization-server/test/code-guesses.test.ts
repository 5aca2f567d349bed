// requires: redis-server
import { createHash, randomBytes } from 'node:crypto';
import { authorizeAsUser } from '@gatehouse/testing';
import { startOnEachEngine } from '@gatehouse/testing/suite';
import { describe, expect, test } from '@jest/globals';
import { alice, authorizationUrl, bootstrap, browserApp, requestToken } from './fixtures.ts';

const newVerifier = () => randomBytes(32).toString('base64url');

const systems = await startOnEachEngine({
  bootstrap,
  apps: ['authorization-server', 'authorization-server'],
});

describe.each(systems)('guesses of the PKCE verifier of a code, on $engine', ({ system }) => {
  const servers = system.authorizationServerUrls;

  async function newCode(verifier: string): Promise<string> {
    const url = authorizationUrl(servers[0] ?? '', {
      client_id: browserApp.clientId,
      redirect_uri: browserApp.redirectUri,
      code_challenge: createHash('sha256').update(verifier).digest('base64url'),
      code_challenge_method: 'S256',
    });
    return (await authorizeAsUser(url, alice)).searchParams.get('code') ?? '';
  }

  const redeem = (code: string, verifier: string, server = servers[0] ?? '') =>
    requestToken(
      server,
      {
        grant_type: 'authorization_code',
        code,
        code_verifier: verifier,
        client_id: browserApp.clientId,
        redirect_uri: browserApp.redirectUri,
      },
      {},
    );

  test('revoke the code after five at once on two servers, even for the correct verifier', async () => {
    const verifier = newVerifier();
    const code = await newCode(verifier);
    const guesses = await Promise.all(
      Array.from({ length: 30 }, (_, i) => redeem(code, newVerifier(), servers[i % 2])),
    );
    expect(new Set(guesses.map(({ body }) => body.error))).toEqual(new Set(['invalid_grant']));
    const right = await redeem(code, verifier);
    expect([right.status, right.body.error]).toEqual([400, 'invalid_grant']);
  });

  test('keep the code valid up to the fourth', async () => {
    const verifier = newVerifier();
    const code = await newCode(verifier);
    for (let guess = 1; guess <= 4; guess += 1) {
      expect((await redeem(code, newVerifier())).status).toBe(400);
    }
    expect((await redeem(code, verifier)).status).toBe(200);
  });

  test('do not prevent a replayed code from revoking its tokens', async () => {
    const verifier = newVerifier();
    const code = await newCode(verifier);
    const { body } = await redeem(code, verifier);
    for (let guess = 1; guess <= 6; guess += 1) {
      await redeem(code, newVerifier());
    }
    expect((await redeem(code, verifier)).body.error).toBe('invalid_grant');
    const headers = { authorization: `Bearer ${body.access_token}` };
    expect((await fetch(`${servers[0]}/userinfo`, { headers })).status).toBe(401);
  });
});
