import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort, processEnvironment } from '@gatehouse/testing';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { send } from './http-client.ts';

const main = fileURLToPath(new URL('../src/main.ts', import.meta.url));
let directory: string;
let children: ChildProcess[] = [];

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'gateway-process-'));
});
afterEach(() => {
  for (const child of children) {
    child.kill('SIGKILL');
  }
  children = [];
  rmSync(directory, { recursive: true });
});

function start(environment: Record<string, string>) {
  const child = spawn(process.execPath, [main], {
    env: { ...processEnvironment, DATA_DIR: directory, ...environment },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  children.push(child);
  let output = '';
  child.stdout?.on('data', (data) => {
    output += data;
  });
  child.stderr?.on('data', (data) => {
    output += data;
  });
  return { child, output: () => output, exited: once(child, 'exit') };
}

describe('the gateway process', () => {
  test('starts with an embedded store, answers, publishes its key and stops on SIGTERM', async () => {
    const [port, operationsPort] = [await freePort(), await freePort()];
    const { child, output, exited } = start({
      GATEWAY_PORT: String(port),
      OPERATIONS_PORT: String(operationsPort),
    });
    await once(child, 'message');

    expect((await send(port, '/api/device')).status).toBe(401);
    expect((await send(operationsPort, '/ready')).json).toEqual({
      status: 'ready',
      checks: { store: 'ok', bootstrap: 'ok', 'signing-key': 'ok' },
    });
    const jwks = await send(operationsPort, '/.well-known/jwks.json');
    expect(jwks.json.keys).toEqual([
      {
        kty: 'OKP',
        crv: 'Ed25519',
        alg: 'EdDSA',
        use: 'sig',
        x: expect.any(String),
        kid: expect.any(String),
      },
    ]);
    child.kill('SIGTERM');
    expect((await exited)[0]).toBe(0);
    expect(output()).toContain('"msg":"GET device.list 401"');
  });

  test('does not start and reports the name of every wrong variable without its value', async () => {
    const { output, exited } = start({
      GATEWAY_PORT: 'eighty',
      DEVICE_SERVICE_URL: 'not-an-address',
      DEVICE_SERVICE_SOCKET: 'not-absolute',
      SECURITY_PROFILE: 'lax',
      TRUSTED_PROXIES: '10.0.0.0/99',
    });

    expect((await exited)[0]).toBe(1);
    for (const name of [
      'GATEWAY_PORT',
      'DEVICE_SERVICE_URL',
      'DEVICE_SERVICE_SOCKET',
      'SECURITY_PROFILE',
      'TRUSTED_PROXIES',
    ]) {
      expect(output()).toMatch(new RegExp(`^ {2}${name}: `, 'm'));
    }
    expect(output()).not.toMatch(/eighty|not-an-address|not-absolute|lax|10\.0\.0\.0/);
  });

  test('rejects a Unix socket for a device service with https, together with all other problems', async () => {
    const { output, exited } = start({
      DEVICE_SERVICE_URL: 'https://service.example',
      DEVICE_SERVICE_SOCKET: '/run/device-service.sock',
      ROUTES_FILE: '/none.json',
    });

    expect((await exited)[0]).toBe(1);
    expect(output()).toMatch(/^ {2}DEVICE_SERVICE_SOCKET: /m);
    expect(output()).toMatch(/^ {2}ROUTES_FILE: /m);
  });

  test('reports misspelled names with a suggestion, together with all other problems', async () => {
    const { output, exited } = start({
      SECURTY_PROFILE: 'strict-marker',
      TRUSTED_PROXY: '10.9.8.7',
      address_rate_limit: '17/23',
      GATEWAY_PORT: 'eighty',
      ROUTES_FILE: join(directory, 'missing'),
    });

    expect((await exited)[0]).toBe(1);
    expect(output()).toContain('  SECURTY_PROFILE: looks like a misspelling of SECURITY_PROFILE');
    expect(output()).toContain('  TRUSTED_PROXY: looks like a misspelling of TRUSTED_PROXIES');
    expect(output()).toContain('  address_rate_limit: looks like a misspelling of ADDRESS_RATE_LI');
    expect(output()).toContain('  GATEWAY_PORT: must be');
    expect(output()).toContain('  ROUTES_FILE');
    expect(output()).not.toMatch(/marker|10\.9|17\/23|eighty/);
  });

  test.each(['STORE_URL_FIL', 'GATEWAY_URI', 'DATA_DIRR', 'BOOTSTRAP_FILES', 'MASTER_KEYFILE'])(
    'creates no demo and no key if %s is misspelled',
    async (name) => {
      const { output, exited } = start({ [name]: 'marker', LOG_LEVEL: 'shouting' });
      expect((await exited)[0]).toBe(1);
      expect(output()).toContain(`  ${name}: looks like a misspelling of`);
      expect(output()).toContain('  LOG_LEVEL: must be');
      expect(output()).not.toContain('marker');
      expect(readdirSync(directory)).toEqual([]);
    },
  );

  test('rejects plain http and trust in every proxy on a public address', async () => {
    const { output, exited } = start({
      GATEWAY_URL: 'http://gateway.example',
      TRUSTED_PROXIES: '0.0.0.0/0',
    });

    expect((await exited)[0]).toBe(1);
    expect(output()).toContain('  GATEWAY_URL: must be https');
    expect(output()).toContain('  TRUSTED_PROXIES: must ');
  });

  /** A correct deployment. Each test breaks one part of it. */
  function production(): Record<string, string> {
    const file = (name: string, text: string) => {
      const path = join(directory, name);
      writeFileSync(path, text, { mode: 0o600 });
      return path;
    };
    return {
      GATEWAY_PORT: '0',
      OPERATIONS_PORT: '0',
      GATEWAY_URL: 'https://gateway.example',
      STORE_URL: `sqlite:${join(directory, 'store.sqlite')}`,
      MASTER_KEY_FILE: file('production.key', randomBytes(32).toString('hex')),
    };
  }

  test('starts on a public address with random keys and listed proxies', async () => {
    const { child, output, exited } = start({ ...production(), TRUSTED_PROXIES: '10.0.0.0/8' });
    await once(child, 'message');
    child.kill('SIGTERM');
    expect([(await exited)[0], output()]).toEqual([0, expect.not.stringContaining('refuse')]);
  });

  test('rejects weak keys, weak secrets and half the internet as proxies, all at once', async () => {
    const zeros = join(directory, 'zeros');
    writeFileSync(zeros, '0'.repeat(64), { mode: 0o600 });
    const bootstrap = join(directory, 'bootstrap.json');
    const client = { clientId: 'app', secureKey: 'password12345678', name: 'App', orgId: 'org-1' };
    const organizations = [{ id: 'org-1', name: 'One' }];
    writeFileSync(bootstrap, JSON.stringify({ organizations, clients: [client] }), { mode: 0o600 });
    const { output, exited } = start({
      ...production(),
      MASTER_KEY_FILE: zeros,
      BOOTSTRAP_FILE: bootstrap,
      TRUSTED_PROXIES: '0.0.0.0/1, 128.0.0.0/1',
      NODE_OPTIONS: '--heapsnapshot-near-heap-limit=1',
      GATEWAY_PORT: 'eighty',
    });

    expect((await exited)[0]).toBe(1);
    const named = [...output().matchAll(/^ {2}([A-Z_]+)[ :]/gm)].map(([, name]) => name);
    expect(named.sort()).toEqual([
      'BOOTSTRAP_FILE',
      'GATEWAY_PORT',
      'MASTER_KEY_FILE',
      'NODE_OPTIONS',
      'TRUSTED_PROXIES',
    ]);
    expect(output()).not.toContain('password12345678');
  });

  test('rejects files that other users can read, and prints the commands to fix them', async () => {
    const environment = production();
    const bootstrap = join(directory, 'bootstrap.json');
    writeFileSync(bootstrap, '{}');
    const files = { MASTER_KEY_FILE: environment.MASTER_KEY_FILE ?? '', BOOTSTRAP_FILE: bootstrap };
    for (const path of Object.values(files)) {
      chmodSync(path, 0o644);
    }
    const { output, exited } = start({ ...environment, ...files, GATEWAY_PORT: 'eighty' });

    expect((await exited)[0]).toBe(1);
    for (const [name, path] of Object.entries(files)) {
      expect(output()).toContain(`  ${name}: names a file with secrets that other users`);
      expect(output()).toContain(`Run: chmod 600 ${path}\n`);
    }
    expect(output()).toContain('  GATEWAY_PORT: must be');
  });

  test.each(['--inspect=0', '--heapsnapshot-signal=SIGUSR2', '--report-on-signal'])(
    'rejects a public address if Node is started with %s',
    async (option) => {
      const { output, exited } = start({ ...production(), NODE_OPTIONS: option });
      expect((await exited)[0]).toBe(1);
      expect(output()).toContain('  NODE_OPTIONS: asks Node for a debugger');
    },
  );

  test('rejects a public address with a store that contains the demo', async () => {
    const demo = { DATA_DIR: directory, GATEWAY_PORT: '0', OPERATIONS_PORT: '0' };
    const first = start(demo);
    await once(first.child, 'message');
    first.child.kill('SIGTERM');
    await first.exited;
    const { output, exited } = start({
      ...production(),
      STORE_URL: `sqlite:${join(directory, 'gatehouse.sqlite')}`,
      MASTER_KEY_FILE: join(directory, 'master.key'),
    });

    expect((await exited)[0]).toBe(1);
    expect(output()).toContain('  STORE_URL: names a store with the demo client');
    expect(output()).toContain('  STORE_URL: names a store with the demo user');
  });

  test('starts while its store is unavailable, reports it in /ready and answers 503', async () => {
    const [port, operationsPort] = [await freePort(), await freePort()];
    const masterKeyFile = join(directory, 'key');
    writeFileSync(masterKeyFile, 'ab'.repeat(32), { mode: 0o600 });
    const { child } = start({
      GATEWAY_PORT: String(port),
      OPERATIONS_PORT: String(operationsPort),
      STORE_URL: `redis://127.0.0.1:${await freePort()}`,
      MASTER_KEY_FILE: masterKeyFile,
    });
    await once(child, 'message');

    const ready = await send(operationsPort, '/ready');
    expect([ready.status, ready.json]).toEqual([
      503,
      {
        status: 'unavailable',
        checks: { store: 'unavailable', bootstrap: 'unavailable', 'signing-key': 'unavailable' },
      },
    ]);
    const reply = await send(port, '/api/device', { headers: { Authorization: 'Bearer x' } });
    expect([reply.status, reply.json.code]).toEqual([503, 'service_unavailable']);
  });
});
