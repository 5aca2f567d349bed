import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  applyBootstrap,
  bootstrapDefinition,
  defaultSigningKeyPolicy,
  type Identity,
  openIdentity,
} from '@gatehouse/identity';
import { createLogger, observeRequests } from '@gatehouse/server';
import { createStore } from '@gatehouse/store';
import { authorizeAsUser } from '@gatehouse/testing';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createLocalJWKSet, decodeProtectedHeader, type JSONWebKeySet, jwtVerify } from 'jose';
import { createApp } from '../src/app.ts';
import { lifetimes } from '../src/requests/lifetimes.ts';
import { alice, authorizationUrl, bootstrap, requestToken, web } from './fixtures.ts';

const DAY = 24 * 60 * 60 * 1000;
const HOUR = 60 * 60 * 1000;
let directory: string;
let identity: Identity;
let server: Server;
let issuer: string;
let ahead = 0;

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'gatehouse-rotation-'));
  const masterKey = randomBytes(32);
  const store = createStore(`sqlite:${join(directory, 'store.sqlite')}`);
  identity = openIdentity({ store, masterKey });
  const bootstrapFile = join(directory, 'bootstrap.json');
  writeFileSync(bootstrapFile, JSON.stringify(bootstrap));
  const place = { bootstrapFile, dataDirectory: directory, embedded: false };
  const definition = bootstrapDefinition({ ...place, publicUrl: 'http://localhost' });
  if (definition !== undefined) {
    await applyBootstrap(definition, identity);
  }
  server = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  issuer = `http://localhost:${(server.address() as AddressInfo).port}`;
  const app = await createApp({
    identity,
    masterKey,
    issuer,
    cookieKeys: [randomBytes(32).toString('hex')],
    securityProfile: 'compatible',
    signingKeyPolicy: defaultSigningKeyPolicy,
    trustedProxies: [],
    // Only the keys use the advanced clock. Tokens and cookies use the clock of the machine.
    now: () => Date.now() + ahead,
  });
  const logger = createLogger({ app: 'test', level: 'silent', pretty: false });
  server.on('request', observeRequests(app, logger));
});
afterAll(async () => {
  server.close();
  server.closeAllConnections();
  await identity.audit.flush();
  await identity.store.close();
  rmSync(directory, { recursive: true });
});

const jwks = async () => (await (await fetch(`${issuer}/jwks`)).json()) as JSONWebKeySet;

async function idToken(): Promise<string> {
  const url = authorizationUrl(issuer, { scope: 'openid' });
  const code = (await authorizeAsUser(url, alice)).searchParams.get('code') ?? '';
  const { body } = await requestToken(issuer, {
    grant_type: 'authorization_code',
    code,
    redirect_uri: web.redirectUri,
  });
  return body.id_token;
}

test('a running server publishes, uses and removes keys by age, without a restart', async () => {
  const first = await jwks();
  const before = await idToken();
  expect(first.keys.map(({ kid }) => kid)).toEqual([decodeProtectedHeader(before).kid]);

  ahead = 90 * DAY;
  const announced = await jwks();
  expect(announced.keys).toHaveLength(2);
  const [, next] = announced.keys;
  expect(decodeProtectedHeader(await idToken()).kid).toBe(first.keys[0]?.kid);

  ahead += HOUR + 1000;
  const after = await idToken();
  expect(decodeProtectedHeader(after).kid).toBe(next?.kid);
  const published = createLocalJWKSet(await jwks());
  await jwtVerify(before, published, { issuer });
  await jwtVerify(after, published, { issuer });

  ahead += HOUR + 3 * 60 * 1000;
  const last = await jwks();
  expect(last.keys.map(({ kid }) => kid)).toEqual([next?.kid]);
  await expect(jwtVerify(before, createLocalJWKSet(last))).rejects.toThrow('no applicable key');
  for (const { keys } of [first, announced, last]) {
    for (const key of keys) {
      expect(Object.keys(key).sort()).toEqual(['alg', 'e', 'kid', 'kty', 'n', 'use']);
    }
  }
});

test('an old key stays published by default until its last ID token expires', () => {
  expect(defaultSigningKeyPolicy.longestTokenSeconds).toBeGreaterThanOrEqual(lifetimes.IdToken);
});
