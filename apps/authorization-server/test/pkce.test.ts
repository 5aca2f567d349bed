import { createHash, randomBytes } from 'node:crypto';
import { authorizeAsUser } from '@gatehouse/testing';
import { startSystem } from '@gatehouse/testing/suite';
import { describe, expect, test } from '@jest/globals';
import { alice, bootstrap, browserApp, requestToken, web } from './fixtures.ts';

const system = await startSystem({
  engine: 'sqlite',
  bootstrap,
  apps: ['authorization-server'],
});
const issuer = system.authorizationServerUrl;

const newVerifier = () => randomBytes(32).toString('base64url');
const challengeOf = (verifier: string) => createHash('sha256').update(verifier).digest('base64url');

type Application = { readonly clientId: string; readonly redirectUri: string };

function urlFor(application: Application, pkce: Record<string, string>): string {
  const query = new URLSearchParams({
    response_type: 'code',
    client_id: application.clientId,
    redirect_uri: application.redirectUri,
    ...pkce,
  });
  return `${issuer}/authorize?${query}`;
}

async function refusal(application: Application, pkce: Record<string, string>) {
  const reply = await fetch(urlFor(application, pkce), { redirect: 'manual' });
  return new URL(reply.headers.get('location') ?? '', issuer).searchParams.get('error');
}

async function codeFor(application: Application, pkce: Record<string, string>): Promise<string> {
  const landing = await authorizeAsUser(urlFor(application, pkce), alice);
  return landing.searchParams.get('code') ?? '';
}

const redeemPublic = (code: string, extra: Record<string, string>) =>
  requestToken(
    issuer,
    {
      grant_type: 'authorization_code',
      code,
      redirect_uri: browserApp.redirectUri,
      client_id: browserApp.clientId,
      ...extra,
    },
    {},
  );

const redeemConfidential = (code: string, extra: Record<string, string>) =>
  requestToken(issuer, {
    grant_type: 'authorization_code',
    code,
    redirect_uri: web.redirectUri,
    ...extra,
  });

describe('PKCE', () => {
  test('is required for a public client', async () => {
    expect(await refusal(browserApp, {})).toBe('invalid_request');
  });

  test('accepts S256 and not plain', async () => {
    const plain = { code_challenge: newVerifier(), code_challenge_method: 'plain' };
    expect(await refusal(browserApp, plain)).toBe('invalid_request');
    expect(await refusal(web, plain)).toBe('invalid_request');
  });

  test('rejects a challenge without a method, and a method without a challenge', async () => {
    const challenge = { code_challenge: challengeOf(newVerifier()) };
    expect(await refusal(browserApp, challenge)).toBe('invalid_request');
    expect(await refusal(web, challenge)).toBe('invalid_request');
    expect(await refusal(web, { code_challenge_method: 'S256' })).toBe('invalid_request');
  });

  test('lets a public client redeem a code with its verifier', async () => {
    const verifier = newVerifier();
    const challenge = { code_challenge: challengeOf(verifier), code_challenge_method: 'S256' };
    const reply = await redeemPublic(await codeFor(browserApp, challenge), {
      code_verifier: verifier,
    });
    expect(reply.status).toBe(200);
  });

  test('rejects a code with a missing or wrong verifier', async () => {
    const challenge = { code_challenge: challengeOf(newVerifier()), code_challenge_method: 'S256' };
    const missing = await redeemPublic(await codeFor(browserApp, challenge), {});
    expect([missing.status, missing.body.error]).toEqual([400, 'invalid_grant']);
    const other = await redeemPublic(await codeFor(browserApp, challenge), {
      code_verifier: newVerifier(),
    });
    expect([other.status, other.body.error]).toEqual([400, 'invalid_grant']);
  });

  test('rejects a verifier if the request had no challenge', async () => {
    const reply = await redeemConfidential(await codeFor(web, {}), {
      code_verifier: newVerifier(),
    });
    expect([reply.status, reply.body.error]).toEqual([400, 'invalid_grant']);
  });

  test.each([
    ['the challenge itself', (challenge: string) => challenge],
    ['42 characters', () => 'v'.repeat(42)],
    ['129 characters', () => 'v'.repeat(129)],
    ['not ASCII', () => 'é'.repeat(43)],
  ])('rejects a verifier that is %s', async (_name, wrong) => {
    const challenge = challengeOf(newVerifier());
    const pkce = { code_challenge: challenge, code_challenge_method: 'S256' };
    const reply = await redeemPublic(await codeFor(browserApp, pkce), {
      code_verifier: wrong(challenge),
    });
    expect(reply.status).toBe(400);
  });

  test('is optional for a confidential client, and binding if used', async () => {
    expect((await redeemConfidential(await codeFor(web, {}), {})).status).toBe(200);
    const verifier = newVerifier();
    const pkce = { code_challenge: challengeOf(verifier), code_challenge_method: 'S256' };
    expect((await redeemConfidential(await codeFor(web, pkce), {})).body.error).toBe(
      'invalid_grant',
    );
    const bound = await redeemConfidential(await codeFor(web, pkce), { code_verifier: verifier });
    expect(bound.status).toBe(200);
  });
});
