import { writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { temporaryFolder } from '@gatehouse/testing/suite';
import { describe, expect, test } from '@jest/globals';
import { z } from 'zod';
import { ConfigurationError } from './configuration-error.ts';
import { type Environment, parseEnvironment } from './environment.ts';
import { addressList, baseUrl, commonVariables, port, socketPath } from './variable-kinds.ts';

const directory = temporaryFolder();

function problemsOf(schema: z.ZodObject, environment: Environment) {
  try {
    parseEnvironment(schema, environment);
  } catch (error) {
    if (error instanceof ConfigurationError) {
      return error.problems;
    }
    throw error;
  }
  return [];
}

function file(name: string, content: string): string {
  const path = join(directory, name);
  writeFileSync(path, content);
  return path;
}

describe('a port', () => {
  test.each([
    ['0', 0],
    ['80', 80],
    ['65535', 65_535],
    ['09000', 9000],
  ])('accepts %j', (text, number) => {
    expect(port.parse(text)).toBe(number);
  });

  test.each(['65536', '-1', '1.5', '1e3', '0x10', ' ', ' 80', '80 ', 'http', '٨٠', '999999'])(
    'rejects %j',
    (text) => {
      expect(port.safeParse(text).success).toBe(false);
    },
  );
});

describe('a base URL', () => {
  test.each([
    'http://localhost:9000',
    'https://auth.example',
    'https://auth.example/tenant-a',
    'http://[::1]:9000',
    'http://127.0.0.1',
  ])('accepts %s', (text) => {
    expect(baseUrl.parse(text)).toBe(text);
  });

  test.each([
    'https://auth.example/',
    'https://auth.example/a/',
    'https://auth.example?',
    'https://auth.example?a=b',
    'https://auth.example#',
    'https://auth.example#a',
    'https://user:password@auth.example',
    'https://@auth.example',
    'ftp://auth.example',
    'auth.example',
    'http:auth.example',
    'http:\\\\auth.example',
    ' https://auth.example',
    'https://auth.example\n',
    'HTTPS://auth.example',
    'https://AUTH.example',
    'https://auth.example:443',
    'https://auth.example/a/../b',
    'http://127.1',
  ])('rejects %j', (text) => {
    expect(baseUrl.safeParse(text).success).toBe(false);
  });
});

describe('a list of addresses', () => {
  test.each([
    ['10.0.0.1', ['10.0.0.1']],
    ['10.0.0.0/8, ::1', ['10.0.0.0/8', '::1']],
    ['fd00::/8,192.168.0.0/16', ['fd00::/8', '192.168.0.0/16']],
    ['::ffff:10.0.0.1/128', ['::ffff:10.0.0.1/128']],
  ])('accepts %j', (text, entries) => {
    expect(addressList.parse(text)).toEqual(entries);
  });

  test.each([
    'true',
    '*',
    'loopback',
    'localhost',
    '10.0.0.1,',
    '10.0.0',
    '10.0.0.1/33',
    '10.0.0.1/',
    '10.0.0.1/08',
    '10.0.0.1/8/8',
    '10.0.0.1/-1',
    '::1/129',
    'fe80::1%eth0',
    '10.0.0.1 10.0.0.2',
  ])('rejects %j', (text) => {
    expect(addressList.safeParse(text).success).toBe(false);
  });

  test.each(['0.0.0.0/0', '::/0', '10.0.0.1, 0.0.0.0/0'])('rejects every address: %j', (text) => {
    expect(addressList.safeParse(text).success).toBe(false);
  });
});

describe('parseEnvironment', () => {
  const schema = z.object({ ...commonVariables, GATEWAY_PORT: port.default(8844) });

  test('applies defaults and ignores variables of other programs', () => {
    expect(parseEnvironment(schema, { PATH: '/bin', HOME: '/root' })).toEqual({
      HOST: '127.0.0.1',
      DATA_DIR: './data',
      LOG_LEVEL: 'info',
      SHUTDOWN_DELAY_SECONDS: 0,
      MAXIMUM_CONNECTIONS: 8192,
      WORKERS: 1,
      GATEWAY_PORT: 8844,
    });
  });

  test.each([
    ['1', 1],
    ['8', 8],
    ['64', 64],
    ['auto', availableParallelism()],
  ])('accepts %j workers', (text, count) => {
    expect(parseEnvironment(schema, { WORKERS: text }).WORKERS).toBe(count);
  });

  test.each(['0', '65', '-1', '1.5', '2x', ' 2', 'Auto', 'all', '999999999999'])(
    'rejects %j workers, and names the allowed values',
    (text) => {
      expect(problemsOf(schema, { WORKERS: text })).toEqual([
        { name: 'WORKERS', message: 'must be auto or a whole number, 1 to 64' },
      ]);
    },
  );

  test('lists every invalid variable, and never a value', () => {
    const environment = { GATEWAY_PORT: 'marker-1', LOG_LEVEL: 'marker-2', OPERATIONS_PORT: '-7' };
    const problems = problemsOf(schema, environment);
    expect(problems.map((problem) => problem.name).sort()).toEqual([
      'GATEWAY_PORT',
      'LOG_LEVEL',
      'OPERATIONS_PORT',
    ]);
    expect(JSON.stringify(problems)).not.toMatch(/marker|-7/);
  });

  test('lists misspelled variables with the invalid ones, and never a value', () => {
    const problems = problemsOf(schema, { LOG_LEVEL: 'marker', GATEWAY_URI: 'marker' });
    expect(problems).toMatchObject([
      { name: 'GATEWAY_URI', message: expect.stringContaining('GATEWAY_URL') },
      { name: 'LOG_LEVEL' },
    ]);
    expect(JSON.stringify(problems)).not.toContain('marker');
  });
});

describe('a variable that can contain a password', () => {
  const schema = z.object({ STORE_URL: z.string().optional(), GATEWAY_PORT: port.default(1) });

  test('is read from a file without the final line break', () => {
    const STORE_URL_FILE = file('url', 'redis://:secret@redis:6379\n');
    expect(parseEnvironment(schema, { STORE_URL_FILE })).toMatchObject({
      STORE_URL: 'redis://:secret@redis:6379',
    });
    expect(parseEnvironment(schema, { STORE_URL_FILE, STORE_URL: '' })).toMatchObject({
      STORE_URL: 'redis://:secret@redis:6379',
    });
    expect(parseEnvironment(schema, { STORE_URL_FILE: '', STORE_URL: 'sqlite:a' })).toMatchObject({
      STORE_URL: 'sqlite:a',
    });
  });

  test('is rejected if both the variable and the file are set', () => {
    const STORE_URL_FILE = file('both', 'redis://marker');
    const problems = problemsOf(schema, { STORE_URL_FILE, STORE_URL: 'redis://marker' });
    expect(problems).toEqual([
      { name: 'STORE_URL', message: 'set either STORE_URL or STORE_URL_FILE, not both' },
    ]);
  });

  test('is rejected if its file is empty', () => {
    const STORE_URL_FILE = file('empty', '\n');
    expect(problemsOf(schema, { STORE_URL_FILE })).toEqual([
      { name: 'STORE_URL_FILE', message: 'names a file that is empty' },
    ]);
  });

  test('reports an unreadable file with all other problems, without its path', () => {
    const problems = problemsOf(schema, {
      STORE_URL_FILE: 'redis://:marker@redis:6379',
      GATEWAY_PORT: 'x',
    });
    expect(problems.map((problem) => problem.name)).toEqual(['STORE_URL_FILE', 'GATEWAY_PORT']);
    expect(JSON.stringify(problems)).not.toContain('marker');
  });
});

describe('socketPath', () => {
  test.each([
    ['/run/gatehouse/gateway.sock', true],
    [`/${'x'.repeat(97)}`, true],
    [`/${'x'.repeat(98)}`, false],
    [`/${'ö'.repeat(49)}`, false],
    ['gateway.sock', false],
    ['unix:/run/gateway.sock', false],
  ])('for %s is accepted: %s', (path, accepted) => {
    expect(socketPath.safeParse(path).success).toBe(accepted);
  });
});
