// requires: curl
/** Clients that send absolute-form targets or two hosts, or offer HTTP/2, to all three servers. */
import { execFile } from 'node:child_process';
import { connect } from 'node:net';
import { promisify } from 'node:util';
import { oneClient } from '@gatehouse/testing';
import { startSystem } from '@gatehouse/testing/suite';
import { describe, expect, test } from '@jest/globals';

const secureKey = 'offeredProtocols0123';
const run = promisify(execFile);
const tokenRequest = ['-u', `one:${secureKey}`, '-d', 'grant_type=client_credentials'];
const system = await startSystem({ engine: 'sqlite', bootstrap: oneClient(secureKey) });
const token: string = JSON.parse(
  await curl(`${system.authorizationServerUrl}/token`, ...tokenRequest),
).access_token;

async function curl(...words: readonly string[]): Promise<string> {
  const { stdout } = await run('curl', ['-sS', '--max-time', '20', '--http2', ...words]);
  return stdout;
}

function exchange(url: string, text: string): Promise<string> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const socket = connect({ host: hostname, port: Number(port) }, () => socket.write(text));
    let received = '';
    socket.on('data', (data) => {
      received += data.toString();
    });
    socket.on('error', reject);
    socket.on('close', () => resolve(received));
  });
}

function get(url: string, target: string, headers = ''): Promise<string> {
  const head = `Host: localhost\r\nConnection: close\r\n${headers}\r\n`;
  return exchange(url, `GET ${target} HTTP/1.1\r\n${head}`);
}

describe('curl --http2 over http', () => {
  test('gets HTTP/1.1 from the authorization server, also for a body and a reused handle', async () => {
    const { authorizationServerUrl: url } = system;
    const format = ['-o', '/dev/null', '-w', '%{http_code} %{http_version}\n'];
    const discovery = `${url}/.well-known/openid-configuration`;
    expect(await curl(...format, discovery, ...format, `${url}/jwks`)).toBe('200 1.1\n200 1.1\n');
    expect(await curl(...format, ...tokenRequest, `${url}/token`)).toBe('200 1.1\n');
  });

  test('gets HTTP/1.1 from the gateway, also for a body', async () => {
    const words = ['-H', `Authorization: Bearer ${token}`, '-w', '%{http_code} %{http_version}'];
    expect(await curl(...words, `${system.gatewayUrl}/api/device`)).toMatch(/200 1\.1$/);
    const query = `${system.gatewayUrl}/device/instance/_query`;
    const body = ['-H', 'Content-Type: application/json', '-d', '{}'];
    expect(await curl(...words, ...body, query)).toMatch(/"status":200.*200 1\.1$/s);
  });

  test('gets HTTP/1.1 from the device service', async () => {
    const format = ['-o', '/dev/null', '-w', '%{http_code} %{http_version}'];
    expect(await curl(...format, `${system.deviceServiceUrl}/api/device`)).toBe('401 1.1');
  });
});

describe('a target in absolute form', () => {
  test('is served by the authorization server, which never uses its authority', async () => {
    const { authorizationServerUrl: url } = system;
    const reply = await get(url, 'http://evil.example/.well-known/openid-configuration');
    expect(reply).toMatch(/^HTTP\/1\.1 200 /);
    expect(reply).toContain(`"issuer":"${url}"`);
    expect(reply).not.toContain('evil.example');
    const page = await get(url, 'http://evil.example/authorize?client_id=none');
    expect(page).not.toContain('evil.example');
  });

  test('is served by the gateway and the device service', async () => {
    const bearer = `Authorization: Bearer ${token}\r\n`;
    const reply = await get(system.gatewayUrl, 'http://evil.example/api/device', bearer);
    expect(reply).toMatch(/^HTTP\/1\.1 200 .*"status":200/s);
    const service = await get(system.deviceServiceUrl, 'http://evil.example/api/device');
    expect(service).toMatch(/^HTTP\/1\.1 401 .*"code":"unauthorized"/s);
  });

  test('with user information is rejected by every server', async () => {
    for (const url of [system.authorizationServerUrl, system.gatewayUrl, system.deviceServiceUrl]) {
      const reply = await get(url, 'http://localhost@evil.example/api/device');
      expect(reply).toMatch(/^HTTP\/1\.1 400 .*"illegal_argument"/s);
    }
  });
});

test('a request with two Host headers is rejected by every server', async () => {
  for (const url of [system.authorizationServerUrl, system.gatewayUrl, system.deviceServiceUrl]) {
    const reply = await get(url, '/', 'Host: evil.example\r\n');
    expect(reply).toMatch(/^HTTP\/1\.1 400 .*The Host header was sent twice\./s);
  }
});
