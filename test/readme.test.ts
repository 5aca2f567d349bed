// requires: curl openssl
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { authorizeAsUser, type Constellation, startConstellation } from '@gatehouse/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readDocument, section } from './documents.ts';

const demo = {
  clientId: 'demo',
  secureKey: 'demoKey0123456789abcdef',
  redirectUri: 'http://localhost:9010/callback',
  username: 'alice',
  password: 'a demo password',
} as const;

const bootstrap = {
  organizations: [{ id: 'demo', name: 'Demo' }],
  clients: [
    {
      clientId: demo.clientId,
      secureKey: demo.secureKey,
      name: 'Demo application',
      orgId: 'demo',
      grantTypes: ['authorization_code', 'client_credentials', 'refresh_token'],
      redirectUris: [demo.redirectUri],
      scopes: ['device:read', 'device:write'],
    },
  ],
  users: [{ username: demo.username, password: demo.password, name: 'Alice', orgId: 'demo' }],
};

const directory = mkdtempSync(join(tmpdir(), 'gatehouse-readme-'));
let system: Constellation | undefined;
let replies: readonly Record<string, unknown>[];

beforeAll(async () => {
  system = await startConstellation({ engine: 'sqlite', bootstrap });
  writeFileSync(join(directory, 'demo.json'), JSON.stringify(demo, null, 2));
  const text = section(readDocument('README.md'), 'Call it')
    .replaceAll('http://localhost:9000', system.authorizationServerUrl)
    .replaceAll('http://localhost:8844', system.gatewayUrl)
    .replaceAll('data/demo.json', join(directory, 'demo.json'));
  const signIn = /```text\n(.+)\n```/.exec(text)?.[1] ?? '';
  const code = (await authorizeAsUser(signIn, demo)).searchParams.get('code') ?? '';
  const [variables = '', ...calls] = [...text.matchAll(/```sh\n([\s\S]*?)```/g)].map(
    ([, commands = '']) => commands.replace(/<the code [^>]*>/, code),
  );
  const script = [variables, ...calls.flatMap((call) => [call, 'echo'])].join('\n');
  replies = execFileSync('bash', ['-eu', '-c', script], { encoding: 'utf8' })
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
});
afterAll(async () => {
  await system?.stop();
  rmSync(directory, { recursive: true, force: true });
});

describe('the commands of the README, pasted in order', () => {
  it.each([
    ['a bearer token', 0],
    ['the query parameter', 1],
    ['a signed GET', 2],
  ])('list the devices with %s', (_name, index) => {
    expect(replies[index]).toMatchObject({ status: 200, code: 'success', result: [] });
  });

  it('create a device with a signed POST', () => {
    expect(replies[3]).toMatchObject({
      status: 200,
      result: { id: 'pump-1', productName: 'Pump' },
    });
  });

  it('redeem the code of a browser sign-in', () => {
    expect(replies[4]).toMatchObject({ token_type: 'Bearer', access_token: expect.any(String) });
    expect(replies).toHaveLength(5);
  });
});
