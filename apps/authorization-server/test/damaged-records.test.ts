// requires: redis-server
import { randomBytes } from 'node:crypto';
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
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { alice, authorizationUrl, requestToken, web } from './fixtures.ts';
import { bootstrap, tokensFor } from './page-fixtures.ts';

const marker = 'contents-of-the-record';

describe.each(storeEngines)('a damaged record, over %s', (engine) => {
  let directory: string;
  let system: Constellation;
  const masterKey = randomBytes(32);

  beforeEach(async () => {
    directory = mkdtempSync(join(tmpdir(), 'gatehouse-damaged-'));
    const MASTER_KEY_FILE = join(directory, 'master.key');
    writeFileSync(MASTER_KEY_FILE, masterKey.toString('hex'), { mode: 0o600 });
    const apps = ['authorization-server', 'gateway'] as const;
    system = await startConstellation({
      ...{ engine, bootstrap, apps, environment: { MASTER_KEY_FILE } },
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

  async function expectLogged(kind: string): Promise<void> {
    const output = await system.output();
    const lines = output.split('\n').filter((line) => line.includes('"damaged record"'));
    expect(lines.map((line) => JSON.parse(line).record)).toContain(kind);
    expect(output).not.toContain(marker);
  }

  it('of a code, a refresh token or a grant is invalid_grant, and the log says which kind', async () => {
    const visitor = createPageVisitor();
    const tokens = await tokensFor(issuer(), visitor);
    const landing = await authorizeAsUser(authorizationUrl(issuer()), alice, visitor);
    const code = landing.searchParams.get('code') ?? '';
    await damage((hash) => credentialKey('AuthorizationCode', hash(code)));
    const redemption = await redeem({
      ...{ grant_type: 'authorization_code', code, redirect_uri: web.redirectUri },
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

  it('of an access token is 401 at the gateway', async () => {
    const { body } = await redeem({ grant_type: 'client_credentials' });
    expect(await call(body.access_token)).not.toBe(401);
    await damage((hash) => credentialKey('AccessToken', hash(body.access_token)));
    expect(await call(body.access_token)).toBe(401);
    await expectLogged('access token');
  });

  it('of a client or a user ends what they hold, as if they were gone', async () => {
    const tokens = await tokensFor(issuer(), createPageVisitor());
    expect(await call(tokens.access_token)).not.toBe(401);
    const store = createStore(system.storeUrl);
    const [userId] = await store.members('users');
    await store.close();
    await damage(() => `user:${userId}`);
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
});
