import { randomBytes } from 'node:crypto';
import { chmodSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ConfigurationError, type Environment } from '@gatehouse/server/configuration';
import { temporaryFolder } from '@gatehouse/testing/suite';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { loadConfiguration } from './config.ts';

let directory: string;
let dataDirectory: string;

beforeEach(() => {
  directory = temporaryFolder();
  dataDirectory = join(directory, 'data');
});

const load = (environment: Environment) =>
  loadConfiguration({ DATA_DIR: dataDirectory, ...environment });

/** The problems by the name of the variable. Two problems of a variable have one text. */
function problemsOf(environment: Environment): Readonly<Record<string, string>> {
  try {
    load(environment);
  } catch (error) {
    if (error instanceof ConfigurationError) {
      return Object.fromEntries(error.problems.map(({ name, message }) => [name, message]));
    }
    throw error;
  }
  return {};
}

function write(name: string, text: string, mode = 0o600): string {
  const path = join(directory, name);
  writeFileSync(path, text);
  chmodSync(path, mode);
  return path;
}

/** A correct deployment. Each test breaks one part of it. */
const production = () => ({
  GATEWAY_URL: 'https://gateway.example',
  STORE_URL: `sqlite:${join(directory, 'store.sqlite')}`,
  MASTER_KEY_FILE: write('production.key', randomBytes(32).toString('hex')),
  TRUSTED_PROXIES: '10.0.0.0/8',
});

describe('the configuration of the gateway', () => {
  test('has defaults for a public address with random keys and listed proxies', () => {
    expect(load(production())).toMatchObject({
      port: 8844,
      operationsPort: 8944,
      trustedProxies: ['10.0.0.0/8'],
      forwardAuth: false,
      explorer: false,
      signatureToleranceMilliseconds: 300_000,
    });
  });

  test('lists the settings in effect for operators, without secrets', () => {
    const STORE_URL = 'redis://:marker@127.0.0.1:6379';
    const { settings } = load({ ...production(), STORE_URL });
    expect(settings).toContainEqual({ name: 'STORE_URL', origin: 'variable' });
    expect(settings).toContainEqual({ name: 'WORKERS', value: '1', origin: 'default' });
    expect(settings).toContainEqual({
      name: 'TRUSTED_PROXIES',
      value: '10.0.0.0/8',
      origin: 'variable',
    });
    expect(JSON.stringify(settings)).not.toContain('marker');
  });

  test('names every wrong or misspelled variable, without its value', () => {
    const wrong = {
      GATEWAY_PORT: 'marker',
      DEVICE_SERVICE_URL: 'marker',
      DEVICE_SERVICE_SOCKET: 'marker',
      SECURITY_PROFILE: 'marker',
      TRUSTED_PROXIES: '10.0.0.0/99',
      ROUTES_FILE: '/marker.json',
      SECURTY_PROFILE: 'marker',
      address_rate_limit: '17/23',
    };
    const problems = problemsOf(wrong);
    expect(Object.keys(problems).sort()).toEqual(Object.keys(wrong).sort());
    expect(problems.SECURTY_PROFILE).toContain('a misspelling of SECURITY_PROFILE');
    expect(problems.address_rate_limit).toContain('a misspelling of ADDRESS_RATE_LIMIT');
    expect(Object.values(problems).join()).not.toMatch(/marker|10\.0\.0\.0|17\/23/);
  });

  test.each(['STORE_URL_FIL', 'GATEWAY_URI', 'DATA_DIRR', 'BOOTSTRAP_FILES', 'MASTER_KEYFILE'])(
    'creates no demo and no key if %s is misspelled',
    (name) => {
      const problems = problemsOf({ [name]: 'marker', LOG_LEVEL: 'shouting' });
      expect(Object.keys(problems).sort()).toEqual([name, 'LOG_LEVEL'].sort());
      expect(readdirSync(directory)).toEqual([]);
    },
  );

  test.each<[string, Environment, string]>([
    [
      'DEVICE_SERVICE_SOCKET',
      { DEVICE_SERVICE_URL: 'https://service.example', DEVICE_SERVICE_SOCKET: '/run/d.sock' },
      'needs a DEVICE_SERVICE_URL that begins with http://',
    ],
    ['GATEWAY_URL', { GATEWAY_URL: 'http://gateway.example' }, 'must be https'],
    ['FORWARD_AUTH', { FORWARD_AUTH: 'true', TRUSTED_PROXIES: '' }, 'needs TRUSTED_PROXIES'],
    ['TRUSTED_PROXIES', { TRUSTED_PROXIES: '0.0.0.0/0' }, 'must '],
    ['TRUSTED_PROXIES', { TRUSTED_PROXIES: '0.0.0.0/1, 128.0.0.0/1' }, ''],
    ...['--inspect=0', '--heapsnapshot-signal=SIGUSR2', '--report-on-signal'].map(
      (NODE_OPTIONS): [string, Environment, string] => [
        'NODE_OPTIONS',
        { NODE_OPTIONS },
        'asks Node for a debugger',
      ],
    ),
  ])('has a problem of %s with %j at a public address', (name, environment, message) => {
    const problems = problemsOf({ ...production(), ...environment });
    expect(Object.keys(problems)).toEqual([name]);
    expect(problems[name]).toContain(message);
  });

  test('rejects weak keys and weak secrets, all at once', () => {
    const client = { clientId: 'app', secureKey: 'password12345678', name: 'App', orgId: 'org-1' };
    const bootstrap = { organizations: [{ id: 'org-1', name: 'One' }], clients: [client] };
    const problems = problemsOf({
      ...production(),
      MASTER_KEY_FILE: write('zeros', '0'.repeat(64)),
      BOOTSTRAP_FILE: write('bootstrap.json', JSON.stringify(bootstrap)),
      GATEWAY_PORT: 'eighty',
    });
    const names = Object.keys(problems).map((text) => text.split(' ')[0]);
    expect(names.sort()).toEqual(['BOOTSTRAP_FILE', 'GATEWAY_PORT', 'MASTER_KEY_FILE']);
    expect(JSON.stringify(problems)).not.toContain('password12345678');
  });

  test('rejects files that other users can read, and has the commands to fix them', () => {
    const files = {
      MASTER_KEY_FILE: write('exposed.key', randomBytes(32).toString('hex'), 0o644),
      BOOTSTRAP_FILE: write('bootstrap.json', '{}', 0o644),
    };
    const problems = problemsOf({ ...production(), ...files });
    for (const [name, path] of Object.entries(files)) {
      expect(problems[name]).toContain(`Run: chmod 600 ${path}`);
    }
  });

  test.each([
    ['on at a loopback address', {}, true],
    ['off at a loopback address with EXPLORER=false', { EXPLORER: 'false' }, false],
    ['on at a public address with EXPLORER=true', { EXPLORER: 'true' }, true],
  ])('turns the explorer %s', (name, variables, explorer) => {
    const address = name.includes('public') ? production() : {};
    expect(load({ ...address, ...variables }).explorer).toBe(explorer);
  });
});
