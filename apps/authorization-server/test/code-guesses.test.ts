// requires: redis-server
import { createHash, randomBytes } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { browserApp } from './installation.ts';
import { outcome, startOnEngines } from './server.ts';

const newVerifier = () => randomBytes(32).toString('base64url');
const ofApplication = { client_id: browserApp.clientId, redirect_uri: browserApp.redirectUri };
const systems = await startOnEngines({ servers: 2 });

describe.each(systems)('guesses of the PKCE verifier of a code, on $engine', ({ system }) => {
  async function newCode() {
    const verifier = newVerifier();
    const code_challenge = createHash('sha256').update(verifier).digest('base64url');
    const pkce = { code_challenge, code_challenge_method: 'S256' };
    const code = await system.first.newCode({ ...ofApplication, ...pkce });
    return (code_verifier = verifier, turn = 0) =>
      system.any(turn).redeem(code, { ...ofApplication, code_verifier }, {});
  }

  test('revoke the code after five at once on two servers, even for the correct verifier', async () => {
    const redeem = await newCode();
    const guesses = await Promise.all(
      Array.from({ length: 30 }, (_, i) => redeem(newVerifier(), i)),
    );
    expect(new Set(guesses.map(({ body }) => body.error))).toEqual(new Set(['invalid_grant']));
    expect(outcome(await redeem())).toEqual([400, 'invalid_grant']);
  });

  test('keep the code valid up to the fourth', async () => {
    const redeem = await newCode();
    for (let guess = 1; guess <= 4; guess += 1) {
      expect((await redeem(newVerifier())).status).toBe(400);
    }
    expect((await redeem()).status).toBe(200);
  });

  test('do not prevent a replayed code from revoking its tokens', async () => {
    const redeem = await newCode();
    const { body } = await redeem();
    for (let guess = 1; guess <= 6; guess += 1) {
      await redeem(newVerifier());
    }
    expect(outcome(await redeem())).toEqual([400, 'invalid_grant']);
    expect((await system.first.userinfo(body.access_token)).status).toBe(401);
  });
});
