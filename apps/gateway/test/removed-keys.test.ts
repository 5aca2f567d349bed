// requires: redis-server

import { setTimeout as sleep } from 'node:timers/promises';
import { integrationEngines, type StoreEngine, startStoreEngine } from '@gatehouse/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { type BootedGateway, bootGateway, closeUnharmed } from './booted-gateway.ts';
import { send } from './http-client.ts';

const body = '{"expires":600}';
const secureKey = 'the-key-that-will-be-removed';

describe.each(integrationEngines)('a removed secure key at the gateway on %s', (engine) => {
  let store: StoreEngine;
  let booted: BootedGateway;
  let testNumber = 0;
  let clientId: string;
  let newKey: string;
  let oldKeyId: string;

  beforeAll(async () => {
    store = await startStoreEngine(engine);
    booted = await bootGateway({ storeUrl: store.storeUrl });
    booted.keepSecret(secureKey);
  });
  afterAll(async () => {
    await closeUnharmed(booted).finally(() => store.stop());
  });
  beforeEach(async () => {
    testNumber += 1;
    clientId = `client-${testNumber}`;
    await booted.saveClient({ clientId }, secureKey);
    const rotated = await booted.identity.clients.rotateKey(clientId, { replaceOldest: false });
    newKey = rotated.secureKey;
    oldKeyId = booted.identity.clients.describeKeys(rotated.client)[1]?.keyId ?? '';
  });

  const json = { 'Content-Type': 'application/json' };
  const issuers = {
    'version 1': (key: string) => ({
      ...json,
      ...booted.signed({ clientId, secureKey: key, body }),
    }),
    'version 2': (key: string) =>
      booted.signedV2({
        clientId,
        secureKey: key,
        body,
        contentType: 'application/json',
        method: 'POST',
        path: '/api/v1/token',
      }),
  } as const;

  async function issue(headers: Record<string, string>): Promise<string> {
    const reply = await send(booted.port, '/api/v1/token', { method: 'POST', headers, body });
    expect(reply.status).toBe(200);
    booted.keepSecret(reply.json.result);
    return reply.json.result;
  }

  const statusOf = async (headers: Record<string, string>) =>
    (await send(booted.port, '/api/device', { headers })).status;
  const remove = async (options = {}) => {
    await booted.identity.clients.removeKey(clientId, oldKeyId, options);
    await sleep(60);
  };

  test.each(['version 1', 'version 2'] as const)(
    'revokes only the X-Access-Tokens that it obtained with %s',
    async (version) => {
      const old = await issue(issuers[version](secureKey));
      const current = await issue(issuers[version](newKey));
      expect(await statusOf({ 'X-Access-Token': old })).toBe(200);
      await remove();

      expect(await statusOf({ 'X-Access-Token': old })).toBe(401);
      expect(await statusOf({ 'X-Access-Token': current })).toBe(200);
    },
  );

  test('leaves X-Access-Tokens valid if they are to be kept', async () => {
    const old = await issue(issuers['version 1'](secureKey));
    await remove({ keepTokens: true });
    expect(await statusOf({ 'X-Access-Token': old })).toBe(200);
    await remove();
    expect(await statusOf({ 'X-Access-Token': old })).toBe(401);
  });

  test('revokes only the access tokens that name it', async () => {
    const [current] = booted.identity.clients.describeKeys(
      await booted.identity.clients.update(clientId, (client) => client),
    );
    const bearer = async (secureKeyId: string | undefined) =>
      `Bearer ${await booted.issueToken({ clientId, secureKeyId })}`;
    const ofOld = await bearer(oldKeyId);
    const ofCurrent = await bearer(current?.keyId);
    const ofNone = await bearer(undefined);
    const ofUnknown = await bearer('000000000000');
    await remove();

    const tokens = [ofOld, ofCurrent, ofNone, ofUnknown];
    const statuses = await Promise.all(tokens.map((Authorization) => statusOf({ Authorization })));
    expect(statuses).toEqual([401, 200, 200, 401]);
  });
});
