// requires: redis-server
import { createHash, randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { credentialKey, grantKey, type Identity, openIdentity } from '@gatehouse/identity';
import { createStore, type Store } from '@gatehouse/store';
import {
  authorizeAsUser,
  type Constellation,
  createPageVisitor,
  integrationEngines,
  startConstellation,
  until,
} from '@gatehouse/testing';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { alice, authorizationUrl, basic, requestToken, web } from './fixtures.ts';
import { bootstrap, openPage, tokensFor } from './page-fixtures.ts';

const marker = 'contents-of-the-record';

describe.each(integrationEngines)('a damaged record, over %s', (engine) => {
  let directory: string;
  let system: Constellation;
  let store: Store;
  let identity: Identity;
  let earlierLines: ReadonlySet<string>;
  const undamaged = new Map<string, string>();

  beforeAll(async () => {
    const masterKey = randomBytes(32);
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
    store = createStore(system.storeUrl);
    identity = openIdentity({ store, masterKey });
  });
  afterAll(async () => {
    await store.close();
    await system.stop();
    rmSync(directory, { recursive: true });
  });
  beforeEach(async () => {
    earlierLines = new Set((await system.output()).split('\n'));
  });
  afterEach(async () => {
    for (const [key, text] of undamaged) {
      await store.set(key, text);
    }
    undamaged.clear();
    // The servers' copies of a record are at most 50 ms old.
    await sleep(60);
  });

  async function damage(key: string, text = `{${marker}`) {
    undamaged.set(key, undamaged.get(key) ?? (await store.get(key)) ?? '');
    await store.set(key, text);
  }

  const issuer = () => system.authorizationServerUrl;
  const redeem = (form: Record<string, string>) => requestToken(issuer(), form);
  const call = async (token: string) => {
    const headers = { authorization: `Bearer ${token}` };
    return (await fetch(`${system.gatewayUrl}/api/device`, { headers })).status;
  };

  async function expectLogged(kind: string, key: string, advice = ''): Promise<void> {
    let output = '';
    // A server may write the line after its reply.
    await until(async () => {
      output = await system.output();
      return output
        .split('\n')
        .filter((line) => line.includes('"damaged record"') && !earlierLines.has(line))
        .map((line) => JSON.parse(line))
        .some(
          (line) =>
            line.record === kind && line.key === key && (line.advice ?? '').includes(advice),
        );
    });
    expect(output).not.toContain('"status":500');
    expect(output).not.toContain(marker);
  }

  test('of a code, a refresh token or a grant causes invalid_grant, and a log line with its kind and key', async () => {
    const visitor = createPageVisitor();
    const tokens = await tokensFor(issuer(), visitor);
    const landing = await authorizeAsUser(authorizationUrl(issuer()), alice, visitor);
    const code = landing.searchParams.get('code') ?? '';
    const codeKey = credentialKey('AuthorizationCode', identity.credentialHash(code));
    await damage(codeKey);
    const redemption = await redeem({
      grant_type: 'authorization_code',
      code,
      redirect_uri: web.redirectUri,
    });
    expect([redemption.status, redemption.body.error]).toEqual([400, 'invalid_grant']);
    await expectLogged('AuthorizationCode', codeKey);

    const refresh = { grant_type: 'refresh_token', refresh_token: tokens.refresh_token };
    const key = credentialKey('RefreshToken', identity.credentialHash(tokens.refresh_token));
    const { grantId } = JSON.parse((await store.get(key)) ?? '{}');
    await damage(grantKey(grantId), 'null');
    const refreshed = await redeem(refresh);
    expect([refreshed.status, refreshed.body.error]).toEqual([400, 'invalid_grant']);
    await expectLogged('Grant', grantKey(grantId));

    await damage(key, '[]');
    expect((await redeem(refresh)).body.error).toBe('invalid_grant');
    await expectLogged('RefreshToken', key);
  });

  test('of an access token causes 401 at the gateway', async () => {
    const { body } = await redeem({ grant_type: 'client_credentials' });
    expect(await call(body.access_token)).not.toBe(401);
    const key = credentialKey('AccessToken', identity.credentialHash(body.access_token));
    await damage(key);
    expect(await call(body.access_token)).toBe(401);
    await expectLogged('access token', key);
    expect(await system.output()).not.toContain(body.access_token);
  });

  test('of a client or a user ends their access, as if they did not exist', async () => {
    const tokens = await tokensFor(issuer(), createPageVisitor());
    expect(await call(tokens.access_token)).not.toBe(401);
    const user = await identity.users.findByUsername(alice.username);
    await damage(`user:${user?.userId}`);
    while ((await call(tokens.access_token)) !== 401) {
      // A copy of the record is at most 50 ms old.
    }
    await expectLogged('user', `user:${user?.userId}`);
    await damage(`client:${web.clientId}`);
    let status = 0;
    while (status !== 401) {
      status = (await redeem({ grant_type: 'client_credentials' })).status;
      expect(status).toBeLessThan(500);
    }
    await expectLogged('client', `client:${web.clientId}`);
  });

  test('of a secure key rejects its client and signed requests, until the client has a new key', async () => {
    const key = `client:${web.clientId}`;
    const client = JSON.parse((await store.get(key)) ?? '{}');
    const [active] = client.keys;
    const keys = [{ ...active, sealed: `${active.sealed.slice(0, -8)}${marker.slice(0, 8)}` }];
    await damage(key, JSON.stringify({ ...client, keys }));
    const grant = { grant_type: 'client_credentials' };
    let reply = await redeem(grant);
    while (reply.status === 200) {
      // A copy of the record is at most 50 ms old.
      reply = await redeem(grant);
    }
    expect([reply.status, reply.body.error]).toEqual([401, 'invalid_client']);
    await expectLogged('secure key', key, `clients rotate-key ${web.clientId}`);
    const signed = await fetch(`${system.gatewayUrl}/api/device?a=b`, {
      headers: signedHeaders('a=b', web.secureKey),
    });
    expect([signed.status, ((await signed.json()) as { code: string }).code]).toEqual([
      401,
      'invalid_signature',
    ]);

    const { secureKey } = await identity.clients.rotateKey(web.clientId, { replaceOldest: false });
    do {
      const authorization = basic(web.clientId, secureKey);
      reply = await requestToken(issuer(), grant, { authorization });
    } while (reply.status === 401);
    expect(reply.status).toBe(200);
  });

  test('of an organization keeps the account page of its users available', async () => {
    await damage('organization:org-1');
    const page = await openPage(createPageVisitor(), `${issuer()}/account`);
    expect([page.status, page.body.includes('org-1')]).toEqual([200, true]);
    await expectLogged('organization', 'organization:org-1');
  });

  test('of signing keys causes 503 until an operator deletes it, and a log line with this advice', async () => {
    const { body } = await redeem({ grant_type: 'client_credentials' });
    expect(await call(body.access_token)).toBe(200);
    for (const { app, process, start, operationsUrl } of system.members.slice(0, 2)) {
      const key = `signing-key:${app}:${app === 'gateway' ? 'EdDSA' : 'RS256'}`;
      await process.stop();
      await damage(key, `v1.${Buffer.from(marker).toString('base64url')}`);
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
      await expectLogged('signing key', key, `The record ${key} in the store cannot be decrypted`);
      await expectLogged('signing key', key, 'Delete the record.');

      undamaged.delete(key);
      await store.delete([key]);
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
