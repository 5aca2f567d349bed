import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
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
    env: { DATA_DIR: directory, ...environment },
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

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, 'close');
  return port;
}

describe('the gateway process', () => {
  it('starts on an embedded store, answers, publishes its key and ends at SIGTERM', async () => {
    const [port, operationsPort] = [await freePort(), await freePort()];
    const { child, output, exited } = start({
      GATEWAY_PORT: String(port),
      OPERATIONS_PORT: String(operationsPort),
    });
    await once(child, 'message');

    expect((await send(port, '/api/device')).status).toBe(401);
    expect((await send(operationsPort, '/ready')).json).toEqual({
      status: 'ready',
      checks: { store: 'ok', bootstrap: 'ok' },
    });
    const jwks = await send(operationsPort, '/.well-known/jwks.json');
    expect(jwks.json.keys).toEqual([
      {
        ...{ kty: 'OKP', crv: 'Ed25519', alg: 'EdDSA', use: 'sig' },
        ...{ x: expect.any(String), kid: expect.any(String) },
      },
    ]);
    child.kill('SIGTERM');
    expect((await exited)[0]).toBe(0);
    expect(output()).toContain('"msg":"GET device.list 401"');
  });

  it('CF-07 refuses to start and names every wrong variable, not its value', async () => {
    const { output, exited } = start({
      GATEWAY_PORT: 'eighty',
      DEVICE_SERVICE_URL: 'not-an-address',
      SECURITY_PROFILE: 'lax',
      TRUSTED_PROXIES: '10.0.0.0/99',
    });

    expect((await exited)[0]).toBe(1);
    for (const name of [
      'GATEWAY_PORT',
      'DEVICE_SERVICE_URL',
      'SECURITY_PROFILE',
      'TRUSTED_PROXIES',
    ]) {
      expect(output()).toMatch(new RegExp(`^ {2}${name}: `, 'm'));
    }
    expect(output()).not.toMatch(/eighty|not-an-address|lax|10\.0\.0\.0/);
  });

  it('CF-01 refuses plain http and trust in every proxy at an address that is not loopback', async () => {
    const { output, exited } = start({
      GATEWAY_URL: 'http://gateway.example',
      TRUSTED_PROXIES: '0.0.0.0/0',
    });

    expect((await exited)[0]).toBe(1);
    expect(output()).toContain('  GATEWAY_URL: must be https');
    expect(output()).toContain('  TRUSTED_PROXIES: must ');
  });

  it('RD-01 starts while its store is away, says so in /ready and answers 503', async () => {
    const [port, operationsPort] = [await freePort(), await freePort()];
    const masterKeyFile = join(directory, 'key');
    writeFileSync(masterKeyFile, 'ab'.repeat(32));
    const { child } = start({
      GATEWAY_PORT: String(port),
      OPERATIONS_PORT: String(operationsPort),
      STORE_URL: `redis://127.0.0.1:${await freePort()}`,
      MASTER_KEY_FILE: masterKeyFile,
    });
    await once(child, 'message');

    expect((await send(operationsPort, '/ready')).status).toBe(503);
    const reply = await send(port, '/api/device', { headers: { Authorization: 'Bearer x' } });
    expect([reply.status, reply.json.code]).toEqual([503, 'service_unavailable']);
  });
});
