import { randomBytes } from 'node:crypto';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort, startApp } from '@gatehouse/testing';
import { temporaryFolder } from '@gatehouse/testing/suite';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { send } from './http-client.ts';

let directory: string;

beforeEach(() => {
  directory = temporaryFolder();
});

// src/config.test.ts tests the configuration, test/health.slow.test.ts an unavailable store.
describe('the gateway process', () => {
  test('starts with an embedded store, answers, publishes its key and stops on SIGTERM', async () => {
    const [port, operationsPort] = [await freePort(), await freePort()];
    const gateway = await startApp('gateway', {
      DATA_DIR: directory,
      GATEWAY_PORT: String(port),
      OPERATIONS_PORT: String(operationsPort),
    });

    expect((await send(port, '/api/device')).status).toBe(401);
    expect((await send(operationsPort, '/ready')).json).toEqual({
      status: 'ready',
      checks: { store: 'ok', bootstrap: 'ok', 'signing-key': 'ok' },
    });
    const key = { kty: 'OKP', crv: 'Ed25519', alg: 'EdDSA', use: 'sig' };
    expect((await send(operationsPort, '/.well-known/jwks.json')).json.keys).toEqual([
      { ...key, x: expect.any(String), kid: expect.any(String) },
    ]);
    expect(await gateway.stop()).toBe(0);
    expect(gateway.output()).toContain('"msg":"GET device.list 401"');
  });

  test('does not start and reports every wrong variable without its value', async () => {
    const started = startApp('gateway', {
      DATA_DIR: directory,
      GATEWAY_PORT: 'marker',
      SECURTY_PROFILE: 'marker',
      STORE_URL_FIL: 'marker',
    });
    const { message } = await started.then(
      () => new Error('The gateway started.'),
      (error: Error) => error,
    );
    expect(message).toContain('ended with 1 instead of starting');
    for (const name of ['GATEWAY_PORT', 'SECURTY_PROFILE', 'STORE_URL_FIL']) {
      expect(message).toMatch(new RegExp(`^ {2}${name}: `, 'm'));
    }
    expect(message).not.toContain('marker');
    expect(readdirSync(directory)).toEqual([]);
  });

  test('rejects a public address with a store that contains the demo', async () => {
    const ports = { GATEWAY_PORT: '0', OPERATIONS_PORT: '0' };
    await (await startApp('gateway', { DATA_DIR: directory, ...ports })).stop();
    const environment = {
      ...ports,
      GATEWAY_URL: 'https://gateway.example',
      STORE_URL: `sqlite:${join(directory, 'gatehouse.sqlite')}`,
      MASTER_KEY_FILE: join(directory, 'master.key'),
    };
    await expect(startApp('gateway', environment)).rejects.toThrow(
      /STORE_URL: names a store with the demo client[\s\S]*STORE_URL: names a store with the demo user/,
    );

    const key = join(directory, 'production.key');
    writeFileSync(key, randomBytes(32).toString('hex'), { mode: 0o600 });
    const STORE_URL = `sqlite:${join(directory, 'other.sqlite')}`;
    const other = await startApp('gateway', { ...environment, STORE_URL, MASTER_KEY_FILE: key });
    expect(await other.stop()).toBe(0);
  });
});
