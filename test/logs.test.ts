// requires: redis-server python3
/**
 * All three apps log one line per request with caller, operation, outcome and duration, but without
 * secrets.
 */
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type AppName,
  basic,
  type Constellation,
  processEnvironment,
  startConstellation,
} from '@gatehouse/testing';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { oneClient } from './one-client.ts';
import { root } from './source-tree.ts';

const secureKey = 'logsKey0123456789abcdef';
const bootstrap = oneClient(secureKey, {
  grantTypes: ['client_credentials', 'authorization_code'],
  redirectUris: ['https://app.example/callback'],
});

let system: Constellation;
let token: string;

beforeAll(async () => {
  system = await startConstellation({
    engine: 'redis',
    bootstrap,
    environment: { LOG_LEVEL: 'info' },
  });
  const reply = await asClient('/token', { grant_type: 'client_credentials' });
  token = ((await reply.json()) as { access_token: string }).access_token;
});
afterAll(() => system.stop());

function asClient(path: string, parameters: Record<string, string>, secret = secureKey, id = '') {
  return fetch(system.authorizationServerUrl + path, {
    method: 'POST',
    headers: {
      authorization: basic('one', secret),
      ...(id === '' ? {} : { 'X-Request-Id': id }),
    },
    body: new URLSearchParams(parameters),
  });
}

/** The lines of an app with this request id. The gateway buffers its lines for up to 100 ms. */
async function linesOf(app: AppName, requestId: string): Promise<readonly object[]> {
  const member = system.members.find((each) => each.app === app);
  const find = () =>
    (member?.process.output() ?? '')
      .split('\n')
      .filter((line) => line.includes(`"requestId":"${requestId}"`))
      .map((line) => JSON.parse(line) as object);
  const deadline = performance.now() + 5000;
  while (find().length === 0 && performance.now() < deadline) {
    await sleep(20);
  }
  // A second line would follow immediately.
  await sleep(100);
  return find();
}

const timed = { durationMs: expect.any(Number), time: expect.any(String) };

describe('the authorization server writes one line per request', () => {
  test.each<[string, () => Promise<Response>, object]>([
    [
      'that succeeds',
      () => asClient('/token', { grant_type: 'client_credentials' }, secureKey, 'succeeds'),
      { operation: 'token', status: 200, clientId: 'one', credential: 'basic' },
    ],
    [
      'of a client that omits a parameter',
      () => asClient('/token', { grant_type: 'authorization_code' }, secureKey, 'incomplete'),
      { operation: 'token', status: 400, clientId: 'one', code: 'invalid_request' },
    ],
    [
      'with a wrong secret',
      () => asClient('/token', { grant_type: 'client_credentials' }, 'wrong', 'wrong-secret'),
      { operation: 'token', status: 401, code: 'invalid_client' },
    ],
    [
      'that revokes',
      () => asClient('/revoke', { token: 'unknown' }, secureKey, 'that-revokes'),
      { operation: 'revoke', status: 200, clientId: 'one' },
    ],
    [
      'that introspects',
      () => asClient('/introspect', { token: 'unknown' }, secureKey, 'introspects'),
      { operation: 'introspect', status: 200, clientId: 'one' },
    ],
    [
      'for a page that does not exist',
      () =>
        fetch(`${system.authorizationServerUrl}/none`, {
          headers: { 'X-Request-Id': 'no-page-1' },
        }),
      { status: 404, code: 'notFound' },
    ],
    [
      'of a browser that asks for the sign-in',
      () =>
        fetch(
          `${system.authorizationServerUrl}/authorize?response_type=code&client_id=one&scope=device:read`,
          { headers: { 'X-Request-Id': 'the-sign-in' }, redirect: 'manual' },
        ),
      { operation: 'authorize', status: 302, clientId: 'one' },
    ],
  ])('%s', async (_name, ask, expected) => {
    const reply = await ask();
    const id = reply.headers.get('x-request-id') ?? '';
    const lines = await linesOf('authorization-server', id);
    expect(lines).toEqual([
      expect.objectContaining({
        ...timed,
        level: 'info',
        app: 'authorization-server',
        ...expected,
      }),
    ]);
  });
});

describe('the gateway and the device service write one line each', () => {
  test('with one request id, the client, and the time of the service', async () => {
    const reply = await fetch(`${system.gatewayUrl}/api/device`, {
      headers: { authorization: `Bearer ${token}`, 'X-Request-Id': 'both-of-them' },
    });
    expect(reply.status).toBe(200);
    const common = { ...timed, requestId: 'both-of-them', clientId: 'one', status: 200 };
    const [gateway, ...more] = await linesOf('gateway', 'both-of-them');
    expect(gateway).toMatchObject({
      ...common,
      app: 'gateway',
      operation: 'device.list',
      credential: 'bearer',
      upstreamMs: expect.any(Number),
    });
    const { upstreamMs, durationMs } = gateway as Record<string, number>;
    expect(upstreamMs).toBeGreaterThan(0);
    expect(upstreamMs).toBeLessThanOrEqual(durationMs ?? 0);
    expect(more).toEqual([]);
    expect(await linesOf('device-service', 'both-of-them')).toEqual([
      expect.objectContaining({ ...common, app: 'device-service', operation: 'device.list' }),
    ]);
  });

  test('with the error code of either app', async () => {
    const ask = (path: string, id: string, headers: Record<string, string>) =>
      fetch(system.gatewayUrl + path, { headers: { 'X-Request-Id': id, ...headers } });
    const bearer = { authorization: `Bearer ${token}` };
    await ask('/api/device', 'unknown-token', { authorization: 'Bearer nobody' });
    await ask('/api/v1/device/none', 'not-there', bearer);
    const timestamp = String(Date.now());
    const sign = createHash('sha256').update(`${timestamp}wrong`).digest('hex');
    const signed = { 'X-Client-Id': 'one', 'X-Timestamp': timestamp, 'X-Sign': sign };
    await ask('/api/device', 'wrong-signature', signed);
    await ask('/api/device', 'no-such-client', { ...signed, 'X-Client-Id': 'made-up-text' });
    const early = { ...signed, 'X-Timestamp': '1' };
    await ask('/api/device', 'too-early', early);
    expect(await linesOf('gateway', 'unknown-token')).toMatchObject([
      { operation: 'device.list', status: 401, code: 'unauthorized', stage: 'authenticate' },
    ]);
    const notFound = { code: 'not_found', reason: 'not_found', stage: 'validate' };
    expect(await linesOf('gateway', 'not-there')).toMatchObject([
      { operation: 'device.detail', status: 404, clientId: 'one', ...notFound },
    ]);
    expect(await linesOf('device-service', 'not-there')).toMatchObject([
      { operation: 'device.detail', status: 404, ...notFound },
    ]);
    const refused = { status: 401, code: 'invalid_signature', stage: 'authenticate' };
    expect(await linesOf('gateway', 'wrong-signature')).toMatchObject([
      { ...refused, clientId: 'one' },
    ]);
    const [unknown] = await linesOf('gateway', 'no-such-client');
    expect(unknown).toMatchObject(refused);
    expect(unknown).not.toHaveProperty('clientId');
    expect(await linesOf('gateway', 'too-early')).toMatchObject([
      { status: 401, code: 'timestamp_out_of_range', clientId: 'one' },
    ]);
  });

  test('every failed request has a reason and the stage that failed, and no other has', async () => {
    const lines = system.members
      .flatMap(({ process }) => process.output().split('\n'))
      .filter((line) => line.includes('"requestId":'))
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    const isFailure = ({ status, code, aborted }: Record<string, unknown>) =>
      Number(status) >= 400 || code !== undefined || aborted === true;
    expect(lines.filter(isFailure).length).toBeGreaterThanOrEqual(9);
    for (const line of lines) {
      expect([line.requestId, line.reason !== undefined, line.stage !== undefined]).toEqual([
        line.requestId,
        isFailure(line),
        isFailure(line),
      ]);
    }
  });
});

test('on a terminal, the lines are formatted for people', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'gatehouse-terminal-'));
  const main = join(root, 'apps/device-service/src/main.ts');
  // Runs in a pseudo-terminal, which Node detects on standard output.
  const child = spawn(
    'python3',
    ['-c', 'import pty, sys; pty.spawn(sys.argv[1:])', process.execPath, main],
    {
      env: { ...processEnvironment, DATA_DIR: directory, DEVICE_SERVICE_PORT: '0' },
      stdio: ['pipe', 'pipe', 'inherit'],
    },
  );
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => {
    output += chunk.toString();
  });
  const deadline = performance.now() + 20_000;
  while (!output.includes('listening') && performance.now() < deadline) {
    await sleep(50);
  }
  // Ctrl-C, as a user presses it.
  child.stdin.write('\x03');
  await once(child, 'exit');
  rmSync(directory, { recursive: true });
  expect(output).toMatch(/^.*INFO.*device-service: listening/m);
  expect(output).not.toContain('{"level"');
});
