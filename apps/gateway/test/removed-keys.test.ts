// requires: redis-server

import { until } from '@gatehouse/testing';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { bootSuiteGateway, onEngines } from './suite-gateway.ts';

const body = '{"expires":600}';
const contentType = 'application/json';
const secureKey = 'the-key-that-will-be-removed';

describe.each(await onEngines(bootSuiteGateway))(
  'a removed secure key at the gateway on $engine',
  ({ system: gateway }) => {
    const { clients } = gateway.identity;
    gateway.keepSecret(secureKey);
    let testNumber = 0;
    let clientId: string;
    let newKey: string;
    let newKeyId: string;
    let oldKeyId: string;

    beforeEach(async () => {
      testNumber += 1;
      clientId = `client-${testNumber}`;
      await gateway.saveClient({ clientId }, secureKey);
      const rotated = await clients.rotateKey(clientId, { replaceOldest: false });
      newKey = rotated.secureKey;
      [newKeyId = '', oldKeyId = ''] = clients
        .describeKeys(rotated.client)
        .map(({ keyId }) => keyId);
    });

    const signers = {
      'version 1': (key: string) => ({
        'Content-Type': contentType,
        ...gateway.signed({ clientId, secureKey: key, body }),
      }),
      'version 2': (key: string) =>
        gateway.signedV2({
          ...{ clientId, secureKey: key, body, contentType },
          ...{ method: 'POST', path: '/api/v1/token' },
        }),
    } as const;

    async function issue(headers: Record<string, string>): Promise<Record<string, string>> {
      const reply = await gateway.send('/api/v1/token', { method: 'POST', headers, body });
      expect(reply.status).toBe(200);
      gateway.keepSecret(reply.json.result);
      return { 'X-Access-Token': reply.json.result };
    }

    const statusOf = async (headers: Record<string, string>) =>
      (await gateway.send('/api/device', { headers })).status;

    test.each(['version 1', 'version 2'] as const)(
      'revokes only the X-Access-Tokens that it obtained with %s',
      async (version) => {
        const old = await issue(signers[version](secureKey));
        const current = await issue(signers[version](newKey));
        expect(await statusOf(old)).toBe(200);
        await clients.removeKey(clientId, oldKeyId);

        await until(async () => (await statusOf(old)) === 401);
        expect(await statusOf(current)).toBe(200);
      },
    );

    test('leaves X-Access-Tokens valid if they are to be kept', async () => {
      const old = await issue(signers['version 1'](secureKey));
      await clients.removeKey(clientId, oldKeyId, { keepTokens: true });
      // The gateway has noticed the removal when it rejects the key.
      const signed = () => gateway.signedV2({ clientId, secureKey });
      await until(async () => (await statusOf(signed())) === 401);
      expect(await statusOf(old)).toBe(200);
      await clients.removeKey(clientId, oldKeyId);
      await until(async () => (await statusOf(old)) === 401);
    });

    test('was last used when it signed a request, and its client with every token', async () => {
      const { lastUse } = gateway.identity;
      const token = await gateway.bearer({ clientId });
      expect(await statusOf({ ...token, Authorization: 'Bearer unknown' })).toBe(401);
      expect(await lastUse.ofClient(clientId)).toBeUndefined();
      expect(await statusOf(token)).toBe(200);
      await until(async () => (await lastUse.ofClient(clientId)) !== undefined);
      expect(await lastUse.ofKey(clientId, oldKeyId)).toBeUndefined();
      await issue(signers['version 1'](secureKey));
      await until(async () => (await lastUse.ofKey(clientId, oldKeyId)) !== undefined);
      expect(await lastUse.ofKey(clientId, newKeyId)).toBeUndefined();
    });

    test('revokes only the access tokens that name it', async () => {
      const named = [oldKeyId, newKeyId, undefined, '000000000000'];
      const tokens = await Promise.all(
        named.map((secureKeyId) => gateway.bearer({ clientId, secureKeyId })),
      );
      await clients.removeKey(clientId, oldKeyId);
      await until(async () => (await statusOf(tokens[0] ?? {})) === 401);
      expect(await Promise.all(tokens.map(statusOf))).toEqual([401, 200, 200, 401]);
    });
  },
);
