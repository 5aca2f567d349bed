// requires: redis-server
import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { credentialKey, grantKey } from '@gatehouse/identity';
import { createPageVisitor, until } from '@gatehouse/testing';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { alice, web } from './installation.ts';
import { as, machineGrant, outcome, type Reply, refreshing, startOnEngines } from './server.ts';

const marker = 'contents-of-the-record';
const rejected = [400, 'invalid_grant'];
const systems = await startOnEngines({
  apps: ['authorization-server', 'gateway', 'device-service'],
});

describe.each(systems)('a damaged record, over $engine', ({ system }) => {
  const { store, identity, gatewayUrl } = system;
  const { get, newCode, open, redeem, token, tokensFor } = system.first;
  const undamaged = new Map<string, string>();
  let earlierLines: ReadonlySet<string>;

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
  const keyOf = (model: string, value: string) =>
    credentialKey(model, identity.credentialHash(value));
  const newToken = async (): Promise<string> => (await token(machineGrant)).body.access_token;
  /** The first reply that fulfills the condition, because copies of a record are up to 50 ms old. */
  async function replyWith(send: () => Promise<Reply>, isExpected: (status: number) => boolean) {
    let reply = await send();
    await until(async () => {
      reply = await send();
      expect([200, 401]).toContain(reply.status);
      return isExpected(reply.status);
    });
    return reply;
  }

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
          (line) => line.record === kind && line.key === key && `${line.advice}`.includes(advice),
        );
    });
    expect(output).not.toContain('"status":500');
    expect(output).not.toContain(marker);
  }

  test('of a code, a refresh token or a grant causes invalid_grant, and a log line with its kind and key', async () => {
    const visitor = createPageVisitor();
    const { refresh_token: value } = await tokensFor({}, alice, visitor);
    const code = await newCode({}, alice, visitor);
    const codeKey = keyOf('AuthorizationCode', code);
    await damage(codeKey);
    expect(outcome(await redeem(code))).toEqual(rejected);
    await expectLogged('AuthorizationCode', codeKey);

    const key = keyOf('RefreshToken', value);
    const { grantId } = JSON.parse((await store.get(key)) ?? '{}');
    await damage(grantKey(grantId), 'null');
    expect(outcome(await token(refreshing(value)))).toEqual(rejected);
    await expectLogged('Grant', grantKey(grantId));

    await damage(key, '[]');
    expect(outcome(await token(refreshing(value)))).toEqual(rejected);
    await expectLogged('RefreshToken', key);
  });

  test('of a secure key rejects its client and signed requests, until the client has a new key', async () => {
    const key = `client:${web.clientId}`;
    const client = JSON.parse((await store.get(key)) ?? '{}');
    const [active] = client.keys;
    const keys = [{ ...active, sealed: `${active.sealed.slice(0, -8)}${marker.slice(0, 8)}` }];
    await damage(key, JSON.stringify({ ...client, keys }));
    const reply = await replyWith(
      () => token(machineGrant),
      (status) => status === 401,
    );
    expect(outcome(reply)).toEqual([401, 'invalid_client']);
    await expectLogged('secure key', key, `clients rotate-key ${web.clientId}`);
    const timestamp = String(Date.now());
    const digest = createHash('sha256').update(`a=b${timestamp}${web.secureKey}`).digest('hex');
    const headers = { 'X-Client-Id': 'web', 'X-Timestamp': timestamp, 'X-Sign': digest };
    const signed = await fetch(`${gatewayUrl}/api/device?a=b`, { headers });
    expect([signed.status, await signed.json()]).toMatchObject([
      401,
      { code: 'invalid_signature' },
    ]);

    const { secureKey } = await identity.clients.rotateKey(web.clientId, { replaceOldest: false });
    await replyWith(
      () => token(machineGrant, as({ ...web, secureKey })),
      (status) => status === 200,
    );
  });

  test('of an organization keeps the account page of its users available', async () => {
    await damage('organization:org-1');
    const page = await open(createPageVisitor(), '/account');
    expect([page.status, page.body]).toEqual([200, expect.stringContaining('org-1')]);
    await expectLogged('organization', 'organization:org-1');
  });

  test('of signing keys causes 503 until an operator deletes it, and a log line with this advice', async () => {
    const authorization = `Bearer ${await newToken()}`;
    const askGateway = () => fetch(`${gatewayUrl}/api/device`, { headers: { authorization } });
    const askServer = () => get('/.well-known/openid-configuration');
    expect((await askGateway()).status).toBe(200);
    for (const { app, process, start, operationsUrl } of system.members.slice(0, 2)) {
      const [algorithm, ask] =
        app === 'gateway' ? (['EdDSA', askGateway] as const) : (['RS256', askServer] as const);
      const key = `signing-key:${app}:${algorithm}`;
      await process.stop();
      await damage(key, `v1.${Buffer.from(marker).toString('base64url')}`);
      await start();
      const isReady = async () => (await fetch(`${operationsUrl}/ready`)).status;
      const refused = await ask();
      expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1']);
      expect(await isReady()).toBe(503);
      await expectLogged('signing key', key, `The record ${key} in the store cannot be decrypted`);
      await expectLogged('signing key', key, 'Delete the record.');

      undamaged.delete(key);
      await store.delete([key]);
      await until(async () => (await ask()).status === 200, 60);
      expect(await isReady()).toBe(200);
    }
  });
});
