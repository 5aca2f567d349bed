// requires: redis-server
/** The request log from the reply to the operator: real servers write it, the commands read it. */

import { createHash, randomUUID } from 'node:crypto';
import { createStore } from '@gatehouse/store';
import {
  exchange,
  listStoredKeys,
  machineToken,
  oneClient,
  postAs,
  until,
} from '@gatehouse/testing';
import { startOnEachEngine } from '@gatehouse/testing/suite';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { runGatehouse } from './run-gatehouse.ts';

const secureKey = 'requestsKey0123456789ab';
const clientId = 'caller-of-requests';

const systems = await startOnEachEngine({
  bootstrap: oneClient(secureKey, { clientId }),
  environment: { TRUSTED_PROXIES: '127.0.0.0/8,::1' },
});

describe.each(systems)('the request log of real servers on $engine', ({ system }) => {
  let token: string;
  beforeAll(async () => {
    token = await machineToken(system, secureKey, clientId);
  });

  const tokenRequest = (secret: string, requestId: string, grant = 'client_credentials') =>
    postAs(
      `${system.authorizationServerUrl}/token`,
      { clientId, secureKey: secret },
      { grant_type: grant },
      { 'x-request-id': requestId },
    );

  function call(path: string, headers: Record<string, string> = {}) {
    const requestId = randomUUID();
    const sent = { 'x-request-id': requestId, 'user-agent': 'tests/1.0', ...headers };
    return fetch(system.gatewayUrl + path, { headers: sent }).then(() => requestId);
  }

  const bearer = () => ({ authorization: `Bearer ${token}` });
  const wrongSignature = (id = clientId) => ({
    'x-client-id': id,
    'x-timestamp': String(Date.now()),
    'x-sign': createHash('sha256').update(randomUUID()).digest('hex'),
  });
  const gatehouse = (...args: string[]) => runGatehouse(system.commandEnvironment, args);

  async function explain(requestId: string) {
    await until(async () => (await gatehouse('requests', 'explain', requestId)).code === 0);
    return gatehouse('requests', 'explain', requestId);
  }

  test('a wrong signature is explained with the failed stage, the client and the audit entry', async () => {
    const { output } = await explain(await call('/api/device', wrongSignature()));
    expect(output).toMatch(/Reason: \w+, at the stage authenticate/);
    expect(output).toMatch(/Reply +401/);
    expect(output).toMatch(/Duration +total [\d.]+ ms/);
    expect(output).toContain(`${clientId} (claimed, not verified)`);
    expect(output).toContain('tests/1.0');
    expect(output).toContain('signature_refused');
    expect(output).toMatch(/What happened: \S/);
    expect(output).toMatch(/How to fix it: \S/);
    expect(output).toContain(`requests list --client ${clientId}`);
  });

  test('the explanation names the missing scope, the method and the clock difference', async () => {
    const requestId = randomUUID();
    await fetch(`${system.gatewayUrl}/device-instance`, {
      method: 'POST',
      headers: { ...bearer(), 'x-request-id': requestId, 'content-type': 'application/json' },
      body: '{}',
    });
    const { output } = await explain(requestId);
    expect(output).toContain('This request:  The operation needs the scope device:write.');
    expect(output).toMatch(/operation device\.create POST/);
    const late = { ...wrongSignature(), 'x-timestamp': String(Date.now() - 3_600_000) };
    const explained = await explain(await call('/api/device', late));
    expect(explained.output).toMatch(
      /This request: {2}X-Timestamp is 36\d\d s behind this server\./,
    );
  });

  test.each(['gateway', 'authorizationServer'] as const)(
    'bytes that are not HTTP are in the request log of the %s',
    async (app) => {
      const reply = await exchange(system[`${app}Url`], '\x16\x03\x01 not HTTP\r\n\r\n');
      const requestId = /X-Request-Id: ([\w-]+)/.exec(reply)?.[1] ?? '';
      const { output } = await explain(requestId);
      expect(output).toContain('Reason: http_invalid, at the stage read');
      expect(output).not.toContain('not HTTP\\r');
    },
  );

  test('a client that proved its secret is verified, with the id of its key', async () => {
    const requestId = randomUUID();
    await tokenRequest(secureKey, requestId, 'unknown');
    const { output } = await explain(requestId);
    expect(output).toMatch(new RegExp(`Client +${clientId}\\n`));
    expect(output).toMatch(/Credential +basic [0-9a-f]{12}/);
  });

  test('an id that the caller made up is never stored', async () => {
    const marker = `made-up-${randomUUID()}`;
    const { output } = await explain(await call('/api/device', wrongSignature(marker)));
    expect(output).toMatch(/Client +unknown/);
    const keys = await listStoredKeys(system.storeUrl);
    expect(JSON.stringify(keys)).not.toContain(marker);
    expect((await gatehouse('requests', 'list', '--json')).output).not.toContain(marker);
  });

  test('no entry contains a value of the URL, a header, the body or a credential', async () => {
    const requestId = randomUUID();
    const secret = (name: string) => `${name}-${requestId}`;
    await fetch(`${system.gatewayUrl}/device-instance?name=${secret('query')}`, {
      method: 'POST',
      headers: {
        ...{ 'x-request-id': requestId, authorization: `Bearer ${secret('token')}` },
        ...{ cookie: secret('cookie'), referer: secret('referer'), 'x-other': secret('header') },
        'content-type': 'application/json',
      },
      body: JSON.stringify({ name: secret('body') }),
    });
    await fetch(`${system.gatewayUrl}/api/device?name=${secret('query')}`, {
      headers: { 'x-request-id': requestId, ...wrongSignature(secret('client')) },
    });
    await tokenRequest(secret('key'), requestId);
    const store = createStore(system.storeUrl);
    const trails = ['client', 'caller', 'success', 'client-overflow', 'caller-overflow'];
    const read = async () =>
      (await Promise.all(trails.map((trail) => store.read(`request-log:${trail}`, 9999)))).flat();
    const ofRequest = async () => (await read()).filter((line) => line.includes(requestId));
    await until(async () => (await ofRequest()).length === 3);
    for (const line of await ofRequest()) {
      expect(line.split(requestId)).toHaveLength(2);
      expect(line).not.toMatch(/[0-9a-f]{64}/);
    }
    await store.close();
  });

  test('an attacker cannot hide a request behind others with its id', async () => {
    const requestId = await call('/api/devices', bearer());
    for (let i = 0; i < 14; i += 1) {
      await call('/api/device', {
        'x-request-id': requestId,
        'x-forwarded-for': `203.0.113.${i}`,
      });
    }
    await until(
      async () =>
        (await gatehouse('requests', 'explain', requestId, '--json')).json.requests?.length === 15,
    );
    const { output } = await gatehouse('requests', 'explain', requestId);
    expect(output).toContain('15 requests have this id');
    expect(output).toContain('Reason: not_found');
    expect(output.match(/^Request /gm)).toHaveLength(10);
  });

  test('a user agent cannot inject lines or terminal escapes, and is cut', async () => {
    const requestId = randomUUID();
    const agent = `\x1b[2J\x9b31m"\\${'x'.repeat(300)}`;
    await exchange(
      system.gatewayUrl,
      `GET /api/device HTTP/1.1\r\nHost: x\r\nX-Request-Id: ${requestId}\r\nUser-Agent: ${agent}\r\nConnection: close\r\n\r\n`,
    );
    // Node rejects some control characters before a request exists.
    const tame = await call('/api/device', { 'user-agent': `\x9b31m"\\${'y'.repeat(300)}` });
    const { output } = await explain(tame);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: the test is about them
    expect(output).not.toMatch(/[\x00-\x09\x0b-\x1f\x7f-\xff"\\]/);
    expect(output).toMatch(/31my{90,98}$/m);
  });
});
