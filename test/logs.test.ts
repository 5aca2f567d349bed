// requires: redis-server python3
/**
 * All three apps log one line per request with caller, operation, outcome and duration, but without
 * secrets.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type AppName,
  machineToken,
  oneClient,
  postAs,
  processEnvironment,
  signatureHeaders,
  until,
} from '@gatehouse/testing';
import { startSystem, temporaryFolder } from '@gatehouse/testing/suite';
import { describe, expect, test } from '@jest/globals';
import { root } from './source-tree.ts';

const secureKey = 'logsKey0123456789abcdef';
const bootstrap = oneClient(secureKey, {
  grantTypes: ['client_credentials', 'authorization_code'],
  redirectUris: ['https://app.example/callback'],
});

const system = await startSystem({
  engine: 'redis',
  bootstrap,
  environment: { LOG_LEVEL: 'info' },
});
const token = await machineToken(system, secureKey);
const directory = temporaryFolder();

const asClient = (path: string, form: Record<string, string>, id: string, secret = secureKey) =>
  postAs(system.authorizationServerUrl + path, { clientId: 'one', secureKey: secret }, form, {
    'X-Request-Id': id,
  });
const open = (path: string, id: string) =>
  fetch(system.authorizationServerUrl + path, {
    headers: { 'X-Request-Id': id },
    redirect: 'manual',
  });

/** The lines of an app with this request id. The gateway buffers its lines for up to 100 ms. */
async function linesOf(app: AppName, requestId: string): Promise<readonly object[]> {
  const find = () =>
    system
      .member(app)
      .process.output()
      .split('\n')
      .filter((line) => line.includes(`"requestId":"${requestId}"`))
      .map((line) => JSON.parse(line) as object);
  await until(() => find().length > 0);
  // A second line would follow immediately.
  await sleep(100);
  return find();
}

const timed = { durationMs: expect.any(Number), time: expect.any(String) };

describe('the authorization server writes one line per request', () => {
  const machine = { grant_type: 'client_credentials' };
  const authorize = '/authorize?response_type=code&client_id=one&scope=device:read';
  test.each<[string, (id: string) => Promise<Response>, object]>([
    [
      'succeeds',
      (id) => asClient('/token', machine, id),
      { operation: 'token', status: 200, clientId: 'one', credential: 'basic' },
    ],
    [
      'omits a parameter',
      (id) => asClient('/token', { grant_type: 'authorization_code' }, id),
      { operation: 'token', status: 400, clientId: 'one', code: 'invalid_request' },
    ],
    [
      'has a wrong secret',
      (id) => asClient('/token', machine, id, 'wrong'),
      { operation: 'token', status: 401, code: 'invalid_client' },
    ],
    [
      'introspects',
      (id) => asClient('/introspect', { token: 'unknown' }, id),
      { operation: 'introspect', status: 200, clientId: 'one' },
    ],
    [
      'opens a page that does not exist',
      (id) => open('/none', id),
      { status: 404, code: 'notFound' },
    ],
    [
      'asks for the sign-in',
      (id) => open(authorize, id),
      { operation: 'authorize', status: 302, clientId: 'one' },
    ],
  ])('that %s', async (name, ask, expected) => {
    const id = `request-${name.replaceAll(' ', '-')}`;
    await ask(id);
    const app = 'authorization-server';
    const line = expect.objectContaining({ ...timed, level: 'info', app, ...expected });
    expect(await linesOf(app, id)).toEqual([line]);
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
    const signed = signatureHeaders({ clientId: 'one', secureKey: 'wrong' });
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
    const isExplained = ({ reason, stage }: Record<string, unknown>) =>
      reason !== undefined && stage !== undefined;
    const isUnexplained = ({ reason, stage }: Record<string, unknown>) =>
      reason === undefined && stage === undefined;
    const isRight = (line: Record<string, unknown>) =>
      isFailure(line) ? isExplained(line) : isUnexplained(line);
    expect(lines.filter((line) => !isRight(line))).toEqual([]);
  });
});

test('on a terminal, the lines are formatted for people', async () => {
  const main = join(root, 'apps/device-service/src/main.ts');
  // Runs in a pseudo-terminal, which Node detects on standard output.
  const script = 'import pty, sys; pty.spawn(sys.argv[1:])';
  const child = spawn('python3', ['-c', script, process.execPath, main], {
    env: { ...processEnvironment, DATA_DIR: directory, DEVICE_SERVICE_PORT: '0' },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => {
    output += chunk.toString();
  });
  await until(() => output.includes('listening'));
  // Ctrl-C, as a user presses it.
  child.stdin.write('\x03');
  await once(child, 'exit');
  expect(output).toMatch(/^.*INFO.*device-service: listening/m);
  expect(output).not.toContain('{"level"');
});
