// requires: curl openssl

import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { authorizeAsUser, type Constellation, startConstellation } from '@gatehouse/testing';
import { temporaryFolder } from '@gatehouse/testing/suite';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
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

const directory = temporaryFolder();
let system: Constellation | undefined;

beforeAll(async () => {
  system = await startConstellation({ engine: 'sqlite', bootstrap });
  writeFileSync(join(directory, 'demo.json'), JSON.stringify(demo, null, 2));
});
afterAll(async () => {
  await system?.stop();
});

/** Returns the commands below a heading, with the addresses of the running system. */
function commandsUnder(path: string, heading: string): string {
  return section(readDocument(path), heading)
    .replaceAll('http://localhost:9000', system?.authorizationServerUrl ?? '')
    .replaceAll('http://localhost:8844', system?.gatewayUrl ?? '')
    .replaceAll('data/demo.json', join(directory, 'demo.json'));
}

function shellBlocks(text: string): readonly string[] {
  return [...text.matchAll(/```sh\n([\s\S]*?)```/g)].map(([, commands = '']) => commands);
}

/** Runs the commands in one shell and parses the reply on each line. */
function paste(commands: readonly string[]): readonly Record<string, unknown>[] {
  return execFileSync('bash', ['-eu', '-c', commands.join('\n')], { encoding: 'utf8' })
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}

describe('README.md', () => {
  test('lists the devices with one paste', () => {
    const [, call = ''] = shellBlocks(commandsUnder('README.md', 'Start'));
    expect(paste([call])).toMatchObject([{ status: 200, code: 'success', result: [] }]);
  });
});

describe('docs/getting-started.md, pasted in order', () => {
  let replies: readonly Record<string, unknown>[];

  beforeAll(async () => {
    const text = commandsUnder('docs/getting-started.md', 'Call it');
    const signIn = /```text\n(.+)\n```/.exec(text)?.[1] ?? '';
    const code = (await authorizeAsUser(signIn, demo)).searchParams.get('code') ?? '';
    const [variables = '', ...calls] = shellBlocks(text).map((commands) =>
      commands.replace(/<the code [^>]*>/, code),
    );
    replies = paste([variables, ...calls.flatMap((call) => [call, 'echo'])]);
  });

  test.each([
    ['an access token in a header', 0],
    ['an access token in the query', 1],
    ['a signed GET', 2],
  ])('lists the devices with %s', (_name, index) => {
    expect(replies[index]).toMatchObject({ status: 200, code: 'success', result: [] });
  });

  test('creates a device with a signed POST', () => {
    expect(replies[3]).toMatchObject({
      status: 200,
      result: { id: 'meter-1', productName: 'Meter' },
    });
  });

  test('redeems the code of a browser sign-in', () => {
    expect(replies[4]).toMatchObject({ token_type: 'Bearer', access_token: expect.any(String) });
    expect(replies).toHaveLength(5);
  });
});
