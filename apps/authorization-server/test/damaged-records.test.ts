// requires: redis-server
import { createHash, randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { credentialKey, grantKey, openIdentity } from '@gatehouse/identity';
import { createStore } from '@gatehouse/store';
import {
  authorizeAsUser,
  type Constellation,
  createPageVisitor,
  startConstellation,
  storeEngines,
} from '@gatehouse/testing';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { alice, authorizationUrl, requestToken, web } from './fixtures.ts';
import { bootstrap, openPage, tokensFor } from './page-fixtures.ts';

const marker = 'contents-of-the-record';

describe.each(storeEngines)('a damaged record, over %s', (engine) => {
  let directory: string;
  let system: Constellation;
  const masterKey = randomBytes(32);

  beforeEach(async () => {
    directory = mkdtempSync(join(tmpdir(), 'gatehouse-damaged-'));
    const MASTER_KEY_FILE = join(directory, 'master.key');
    writeFileSync(MASTER_KEY_FILE, masterKey.toString('hex'), { mode: 0o600 });
    const apps = ['authorization-server', 'gateway', 'device-service'] as const;
    system = await startConstellation({
      engine,
      bootstrap,
      apps,
      environment: { MASTER_KEY_FILE },
    });
  }, 120_000);
  afterEach(async () => {
    await system.stop();
    rmSync(directory, { recursive: true });
  });

  async function damage(key: (hash: (value: string) => string) => string, text = `{${marker}`) {
    const store = createStore(system.storeUrl);
    const { credentialHash } = openIdentity({ store, masterKey });
    await store.set(key(credentialHash), text);
    await store.close();
  }

  const issuer = () => system.authorizationServerUrl;
  const redeem = (form: Record<string, string>) => requestToken(issuer(), form);
  const call = async (token: string) => {
    const headers = { authorization: `Bearer ${token}` };
    return (await fetch(`${system.gatewayUrl}/api/device`, { headers })).status;
  };

  async function expectLogged(kind: string, advice?: string): Promise<void> {
    const output = await system.output();
    const lines = output.split('\n').filter((line) => line.includes('"damaged record"'));
    const found = lines.map((line) => JSON.parse(line)).filter(({ record }) => record === kind);
    expect(found).not.toEqual([]);
    expect(found.map((line) => line.advice).join()).toContain(advice ?? '');
    expect(output).not.toContain('"status":500');
    expect(output).not.toContain(marker);
  }

  test('of a code, a refresh token or a grant causes invalid_grant, and a log line with its kind', async () => {
    const visitor = createPageVisitor();
    const tokens = await tokensFor(issuer(), visitor);
    const landing = await authorizeAsUser(authorizationUrl(issuer()), alice, visitor);
    const code = landing.searchParams.get('code') ?? '';
    await damage((hash) => credentialKey('AuthorizationCode', hash(code)));
    const redemption = await redeem({
      grant_type: 'authorization_code',
      code,
      redirect_uri: web.redirectUri,
    });
    expect([redemption.status, redemption.body.error]).toEqual([400, 'invalid_grant']);
    await expectLogged('AuthorizationCode');

    const refresh = { grant_type: 'refresh_token', refresh_token: tokens.refresh_token };
    const store = createStore(system.storeUrl);
    const { credentialHash } = openIdentity({ store, masterKey });
    const key = credentialKey('RefreshToken', credentialHash(tokens.refresh_token));
    const { grantId } = JSON.parse((await store.get(key)) ?? '{}');
    await store.close();
    await damage(() => grantKey(grantId), 'null');
    const refreshed = await redeem(refresh);
    expect([refreshed.status, refreshed.body.error]).toEqual([400, 'invalid_grant']);
    await expectLogged('Grant');

    await damage(() => key, '[]');
    expect((await redeem(refresh)).body.error).toBe('invalid_grant');
    await expectLogged('RefreshToken');
  });

  test('of an access token causes 401 at the gateway', async () => {
    const { body } = await redeem({ grant_type: 'client_credentials' });
    expect(await call(body.access_token)).not.toBe(401);
    await damage((hash) => credentialKey('AccessToken', hash(body.access_token)));
    expect(await call(body.access_token)).toBe(401);
    await expectLogged('access token');
  });

  test('of a client or a user ends their access, as if they did not exist', async () => {
    const tokens = await tokensFor(issuer(), createPageVisitor());
    expect(await call(tokens.access_token)).not.toBe(401);
    const store = createStore(system.storeUrl);
    const user = await openIdentity({ store, masterKey }).users.findByUsername(alice.username);
    await store.close();
    await damage(() => `user:${user?.userId}`);
    while ((await call(tokens.access_token)) !== 401) {
      // A copy of the record is at most 50 ms old.
    }
    await expectLogged('user');
    await damage(() => `client:${web.clientId}`);
    let status = 0;
    while (status !== 401) {
      status = (await redeem({ grant_type: 'client_credentials' })).status;
      expect(status).toBeLessThan(500);
    }
    await expectLogged('client');
  });

  test('of a secure key rejects its client and signed requests, until the client has a new key', async () => {
    const store = createStore(system.storeUrl);
    const { clients } = openIdentity({ store, masterKey });
    const key = `client:${web.clientId}`;
    const client = JSON.parse((await store.get(key)) ?? '{}');
    const [sealed] = client.sealedSecureKeys;
    const sealedSecureKeys = [`${sealed.slice(0, -8)}${marker.slice(0, 8)}`];
    await store.set(key, JSON.stringify({ ...client, sealedSecureKeys }));
    const grant = { grant_type: 'client_credentials' };
    let reply = await redeem(grant);
    while (reply.status === 200) {
      // A copy of the record is at most 50 ms old.
      reply = await redeem(grant);
    }
    expect([reply.status, reply.body.error]).toEqual([401, 'invalid_client']);
    await expectLogged('secure key', 'clients rotate-key');
    const signed = await fetch(`${system.gatewayUrl}/api/device?a=b`, {
      headers: signedHeaders('a=b', web.secureKey),
    });
    expect([signed.status, ((await signed.json()) as { code: string }).code]).toEqual([
      401,
      'invalid_signature',
    ]);

    const { secureKey } = await clients.rotateKey(web.clientId, { replaceOldest: false });
    await store.close();
    do {
      const authorization = `Basic ${btoa(`${web.clientId}:${secureKey}`)}`;
      reply = await requestToken(issuer(), grant, { authorization });
    } while (reply.status === 401);
    expect(reply.status).toBe(200);
  });

  test('of an organization keeps the account page of its users available', async () => {
    await damage(() => 'organization:org-1');
    const page = await openPage(createPageVisitor(), `${issuer()}/account`);
    expect([page.status, page.body.includes('org-1')]).toEqual([200, true]);
    await expectLogged('organization');
  });

  test('of signing keys causes 503 until an operator deletes it, and a log line with this advice', async () => {
    const { body } = await redeem({ grant_type: 'client_credentials' });
    expect(await call(body.access_token)).toBe(200);
    for (const { app, process, start, operationsUrl } of system.members.slice(0, 2)) {
      const key = `signing-key:${app}:${app === 'gateway' ? 'EdDSA' : 'RS256'}`;
      await process.stop();
      await damage(() => key, `v1.${Buffer.from(marker).toString('base64url')}`);
      await start();
      const ask = () =>
        app === 'gateway'
          ? fetch(`${system.gatewayUrl}/api/device`, {
              headers: { authorization: `Bearer ${body.access_token}` },
            })
          : fetch(`${issuer()}/.well-known/openid-configuration`);
      const refused = await ask();
      expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1']);
      expect((await fetch(`${operationsUrl}/ready`)).status).toBe(503);
      await expectLogged('signing key', `The record ${key} in the store does not open`);
      await expectLogged('signing key', 'Delete the record.');

      const store = createStore(system.storeUrl);
      await store.delete([key]);
      await store.close();
      while ((await ask()).status !== 200) {
        // The time limit of the test ends the loop.
      }
      expect((await fetch(`${operationsUrl}/ready`)).status).toBe(200);
    }
  });
});

function signedHeaders(text: string, secureKey: string): Record<string, string> {
  const timestamp = String(Date.now());
  const digest = createHash('sha256').update(`${text}${timestamp}${secureKey}`).digest('hex');
  return { 'X-Client-Id': web.clientId, 'X-Timestamp': timestamp, 'X-Sign': digest };
}
