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
  test('follows the port of the gateway, and creates a demo by default', () => {
    expect(readConfiguration({ GATEWAY_PORT: '7000' })).toMatchObject({
      port: 8850,
      operationsPort: 8950,
      database: { engine: 'sqlite', path: 'data/devices.sqlite' },
      gatewayUrl: 'http://localhost:7000',
      gatewayJwksUrl: 'http://127.0.0.1:7100/.well-known/jwks.json',
      demo: true,
    });
  });

  test.each([{ BOOTSTRAP_FILE: '/x.json' }, { DATABASE_URL: 'sqlite:/var/lib/d.sqlite' }])(
    'creates no demo with %j',
    (environment) => {
      expect(readConfiguration(environment as Record<string, string>).demo).toBe(false);
    },
  );

  test('reports every invalid variable', () => {
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
