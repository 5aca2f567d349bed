import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ConfigurationError } from '@gatehouse/server/configuration';
import { afterAll, describe, expect, test } from '@jest/globals';
import { readConfiguration } from './config.ts';

function problemsOf(environment: Record<string, string>): string[] {
  try {
    readConfiguration(environment);
  } catch (error) {
    if (error instanceof ConfigurationError) {
      return error.problems.map(({ name }) => name).sort();
    }
    throw error;
  }
  return [];
}

describe('readConfiguration', () => {
  test('has defaults for every variable', () => {
    expect(readConfiguration({})).toEqual({
      host: '127.0.0.1',
      port: 8850,
      operationsPort: 8950,
      logLevel: 'info',
      shutdownDelayMilliseconds: 0,
      workers: 1,
      maximumConnections: 8192,
      database: { engine: 'sqlite', path: 'data/devices.sqlite' },
      logRetentionDays: 30,
      gatewayUrl: 'http://localhost:8844',
      gatewayJwksUrl: 'http://127.0.0.1:8944/.well-known/jwks.json',
      demo: true,
      // The working directory of the tests may contain ./data.
      warnings: expect.any(Array),
    });
  });

  test('follows the gateway’s port', () => {
    const { gatewayUrl, gatewayJwksUrl } = readConfiguration({ GATEWAY_PORT: '7000' });

    expect(gatewayUrl).toBe('http://localhost:7000');
    expect(gatewayJwksUrl).toBe('http://127.0.0.1:7100/.well-known/jwks.json');
  });

  test('reads every variable', () => {
    const set = readConfiguration({
      HOST: '0.0.0.0',
      DEVICE_SERVICE_PORT: '1',
      OPERATIONS_PORT: '2',
      DATABASE_URL: 'sqlite:/var/lib/d.sqlite',
      GATEWAY_URL: 'https://api.example',
      GATEWAY_JWKS_URL: 'http://gateway:8944/.well-known/jwks.json',
    });

    expect(set).toMatchObject({ host: '0.0.0.0', port: 1, operationsPort: 2, demo: false });
    expect(set.database).toEqual({ engine: 'sqlite', path: '/var/lib/d.sqlite' });
    expect(set.gatewayUrl).toBe('https://api.example');
  });

  test('creates no demo if BOOTSTRAP_FILE is set', () => {
    expect(readConfiguration({ BOOTSTRAP_FILE: '/x.json' }).demo).toBe(false);
  });

  test('CF-07 reports every invalid variable', () => {
    expect(
      problemsOf({
        DEVICE_SERVICE_PORT: '65500',
        GATEWAY_URL: 'gateway',
        GATEWAY_JWKS_URL: 'ftp://x',
        DATABASE_URL: 'mysql://x',
        LOG_LEVEL: 'loud',
        LOG_RETENTION_DAYS: '0',
      }),
    ).toEqual([
      'DATABASE_URL',
      'GATEWAY_JWKS_URL',
      'GATEWAY_URL',
      'LOG_LEVEL',
      'LOG_RETENTION_DAYS',
    ]);
    expect(problemsOf({ DEVICE_SERVICE_PORT: 'http', OPERATIONS_PORT: '99999' })).toEqual([
      'DEVICE_SERVICE_PORT',
      'OPERATIONS_PORT',
    ]);
  });

  describe('a DATABASE_URL_FILE that other users can read', () => {
    const directory = mkdtempSync(join(tmpdir(), 'device-configuration-'));
    const DATABASE_URL_FILE = join(directory, 'database-url');
    writeFileSync(DATABASE_URL_FILE, 'postgres://a:b@localhost/devices');
    chmodSync(DATABASE_URL_FILE, 0o644);
    afterAll(() => rmSync(directory, { recursive: true }));

    test('is an error if the gateway has a public address', () => {
      const GATEWAY_URL = 'https://gateway.example';
      expect(problemsOf({ DATABASE_URL_FILE, GATEWAY_URL, LOG_LEVEL: 'loud' })).toEqual([
        'DATABASE_URL_FILE',
        'LOG_LEVEL',
      ]);
    });

    test('is a warning if it has none', () => {
      expect(readConfiguration({ DATABASE_URL_FILE }).warnings).toEqual([
        expect.stringMatching(/^DATABASE_URL_FILE: .*Run: chmod 600 /),
      ]);
    });
  });
});
