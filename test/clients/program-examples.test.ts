/** The programs of examples/ without a page, each registered and started as its guide describes. */

import { chmodSync, cpSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import {
  authorizeAsUser,
  createPageVisitor,
  listen,
  startHostileProxy,
  until,
} from '@gatehouse/testing';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type PackedPackage, packPackage } from '../../packages/client/test/packed-package.ts';
import { demoDevice, startExampleStack } from './example-stack.ts';
import { alice } from './sign-in-and-allow.ts';

const stack = await startExampleStack();
beforeAll(() => {
  stack.register('python-script');
  stack.runBlock('python-script', 'install');
  stack.register('firmware');
  stack.runBlock('firmware', 'build');
});

describe('the backend service', () => {
  let packed: PackedPackage;
  beforeAll(async () => {
    packed = await packPackage();
    stack.register('backend-service');
    const project = await packed.install();
    const installed = join(stack.folder, 'backend-service/node_modules');
    cpSync(join(project, 'node_modules'), installed, { recursive: true });
  });
  afterAll(() => packed.remove());

  test('lists the devices with the packed client library', async () => {
    const program = await stack.start('backend-service', {}, 'demo-device-1');
    expect(program.output()).toBe('demo-device-1: Demo device (notActive)\n');
    await program.stop();
  });

  test('has a secure key that only its user can read', () => {
    const { mode } = statSync(join(stack.folder, 'backend-service/secure-key.txt'));
    expect(mode & 0o077).toBe(0);
  });

  test('prints the error, and never the secure key, if the secure key is wrong', async () => {
    const wrong = join(stack.folder, 'wrong.txt');
    writeFileSync(wrong, 'wrongKey0123456789abcdef\n');
    const program = await stack.start('backend-service', { SECURE_KEY_FILE: wrong }, '\n');
    expect(program.output()).toMatch(/^Cannot list the devices: .+ \(invalid_client\)\n$/);
    expect(program.output()).not.toContain('wrongKey');
    await program.stop();
  });
});

describe('the native application', () => {
  beforeAll(() => stack.register('native-application'));

  const start = (...args: readonly string[]) =>
    stack.start('native-application', {}, '\n', ...args);

  test('signs the user in with a browser, and lists the devices of the user', async () => {
    const program = await start();
    const [address = ''] = /http:\S+/.exec(program.output()) ?? [];
    const back = await authorizeAsUser(address, alice);
    const page = await fetch(back.href);
    expect(await page.text()).toContain('Return to the program.');
    await until(() => program.output().includes(demoDevice.name));
    expect(program.output()).toMatch(/Signed in as Alice Example\.\nDemo device\n$/);
    await program.stop();
  });

  test('ignores a code without the state of its sign-in', async () => {
    const program = await start();
    const [address = ''] = /http:\S+/.exec(program.output()) ?? [];
    const back = await authorizeAsUser(address, alice);
    for (const state of ['forged', '']) {
      const forged = new URL(back);
      forged.searchParams.set('state', state);
      expect((await fetch(forged)).status).toBe(404);
    }
    expect((await fetch(`${back.origin}//`)).status).toBe(404);
    expect((await fetch(back)).status).toBe(200);
    await until(() => program.output().includes(demoDevice.name));
    await program.stop();
  });

  test('signs the user in on another device', async () => {
    const program = await start('--device');
    const [, address = '', code = ''] = /open (\S+) and enter (\S+)/.exec(program.output()) ?? [];
    await enterCode(address, code);
    await until(() => program.output().includes(demoDevice.name), 20);
    await program.stop();
  });
});

describe('the Python script', () => {
  const run = (...args: readonly string[]) =>
    stack.run('python-script', ['/usr/bin/python3', 'report_event.py', ...args]);

  test.each([
    ['a signature', []],
    ['an access token', ['--token']],
  ])('reports an event, and prints the newest events, with %s', async (name, options) => {
    const text = `opened with ${name}, “ü”`;
    expect(await run(device, text, ...options)).toMatch(`event ${text}\n`);
  });

  test('prints why the gateway rejected a call', async () => {
    await expect(run('no-such-device', 'x')).rejects.toThrow(
      'The gateway rejected the call: not_found',
    );
    await expect(run('no-such-device', 'x', '--token')).rejects.toThrow('not_found');
  });
});

describe('the firmware', () => {
  const run = (temperature: string, environment = {}) =>
    stack.run('firmware', ['./report-temperature', temperature], environment);

  test('reports a temperature with the time of the gateway, and verifies the reply', async () => {
    expect(await run('21.5')).toMatch(/^200, verified: \{.*21\.5/);
  });

  test('sends no report until a signed reply confirms the time of the gateway', async () => {
    const proxy = await startHostileProxy(stack.system.gatewayUrl);
    const run21 = () => run('21.5', { GATEWAY_URL: proxy.url });
    expect(await run21()).toMatch(/^200, verified: /);
    // The time, a GET that confirms it, and the report.
    expect(proxy.requests).toBe(3);
    proxy.attack = (reply, requestNumber) =>
      requestNumber === 1
        ? { ...reply, body: Buffer.from('{"status":200,"result":1999999999999}') }
        : reply;
    proxy.requests = 0;
    await expect(run21()).rejects.toThrow('The reply is not signed.');
    expect(proxy.requests).toBe(2);
    proxy.close();
  });

  test('corrects a time that is two minutes wrong with the time of the signed reply', async () => {
    const proxy = await startHostileProxy(stack.system.gatewayUrl);
    const errors: number[] = [];
    proxy.attack = (reply, requestNumber, requestHeaders) => {
      const { timestamp } = JSON.parse(reply.body.toString());
      errors.push(Number(requestHeaders['x-timestamp']) - timestamp);
      return requestNumber === 1
        ? { ...reply, body: Buffer.from(`{"result":${timestamp + 120_000}}`) }
        : reply;
    };
    expect(await run('21.5', { GATEWAY_URL: proxy.url })).toMatch(/^200, verified: /);
    const [, errorOfGet = 0, errorOfReport = 0] = errors;
    expect(errorOfGet).toBeGreaterThan(60_000);
    expect(errorOfReport).toBeLessThanOrEqual(0);
    proxy.close();
  });

  test.each(['', '../x', 'a?b=c', 'x'.repeat(65)])('refuses the device id "%s"', async (id) => {
    await expect(run('21.5', { DEVICE_ID: id })).rejects.toThrow('DEVICE_ID must be');
  });
});

const device = 'demo-device-1';
describe.each([
  [
    'the Python script',
    'python-script',
    ['/usr/bin/python3', 'report_event.py', device, 'x'],
    'Do not trust this reply',
  ],
  ['the firmware', 'firmware', ['./report-temperature', '21.5'], 'The reply is not signed.'],
] as const)('%s', (_name, example, command, problem) => {
  test('does not act on a reply that the gateway did not sign', async () => {
    const server = createServer((_request, response) => {
      const timestamp = Date.now();
      const reply = { timestamp, status: 200, code: 'success', message: 'success' };
      response.setHeader('X-Timestamp', timestamp);
      response.setHeader('X-Sign-V2', 'f'.repeat(64));
      response.end(JSON.stringify({ ...reply, result: timestamp }));
    });
    const forged = { GATEWAY_URL: `http://localhost:${await listen(server, 'localhost')}` };
    await expect(stack.run(example, command, forged)).rejects.toThrow(problem);
    server.close();
  });

  test.each([0o644, 0o640])('refuses a key file with the mode %o', async (mode) => {
    const keyFile = join(stack.folder, example, 'secure-key.txt');
    chmodSync(keyFile, mode);
    const failed = stack.run(example, command);
    await expect(failed).rejects.toThrow('Run: chmod 600 secure-key.txt');
    chmodSync(keyFile, 0o600);
  });
});

/** Enters the code, signs in and allows the access. */
async function enterCode(address: string, code: string): Promise<void> {
  const visitor = createPageVisitor();
  const question = await visitor.submit(await visitor.get(address), { user_code: code });
  let page = await visitor.submit(question, { confirm: 'yes' });
  for (let step = 0; step < 8 && !page.body.includes('is connected'); step += 1) {
    if (page.location !== undefined) {
      page = await visitor.get(page.location);
    } else if (page.body.includes('name="password"')) {
      page = await visitor.submit(page, alice);
    } else {
      page = await visitor.submit(page, { decision: 'allow' });
    }
  }
  expect(page.body).toContain('is connected');
}
