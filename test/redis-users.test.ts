// requires: redis-server redis-cli
/** The users of Redis in containers, with the rights from the service `secrets`. */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type ContainerRedis, startContainerRedis } from './container-redis.ts';
import { codeBlock, readDocument } from './documents.ts';

let redis: ContainerRedis;
beforeAll(async () => {
  redis = await startContainerRedis();
});
afterAll(() => redis.stop());

const run = promisify(execFile);

/** Returns the output of redis-cli, including errors. */
async function send(login: readonly string[], ...words: readonly string[]): Promise<string> {
  const server = ['-h', '127.0.0.1', '-p', String(redis.server.port), '--no-auth-warning'];
  const { stdout, stderr } = await run('redis-cli', [...server, ...login, ...words]);
  return `${stdout}${stderr}`.trim();
}
const loginOf = (url: string) => ['--user', new URL(url).username, '--pass', new URL(url).password];

describe('without a password', () => {
  test.each([['PING'], ['GET', 'key'], ['INFO'], ['ACL', 'LIST']])(
    'no caller may send %s',
    async (...words) => {
      expect(await send([], ...words)).toContain('NOAUTH');
    },
  );

  test.each([[''], ['none'], ['default'], ['gatehouse']])(
    'the default user does not accept %j as a password',
    async (password) => {
      const login = ['--user', 'default', '--pass', password];
      expect(await send(login, 'PING')).toContain('NOAUTH');
    },
  );
});

describe('the user of the health check', () => {
  const login = ['--user', 'health', '--pass', 'none'];

  test('checks whether Redis answers', async () => {
    expect(await send(login, 'PING')).toBe('PONG');
  });

  test.each([
    ['GET', 'key'],
    ['SET', 'key', 'other'],
    ['FLUSHALL'],
    ['INFO'],
    ['EVAL', 'return 1', '0'],
    ['ACL', 'LIST'],
    ['CLIENT', 'LIST'],
  ])('cannot send %s', async (...words) => {
    expect(await send(login, ...words)).toContain('NOPERM');
  });
});

describe('the operators’ user', () => {
  test.each([
    [['CONFIG', 'SET', 'maxmemory', '300mb'], /^OK$/],
    [['CONFIG', 'GET', 'maxmemory'], /314572800/],
    [['INFO', 'memory'], /maxmemory_human:300/],
    [['CLIENT', 'PAUSE', '1', 'WRITE'], /^OK$/],
    [['CLIENT', 'LIST'], /user=operator/],
    [['FAILOVER', 'ABORT'], /No failover in progress/],
    [['BGREWRITEAOF'], /rewriting started/],
    [['ACL', 'LIST'], /user health/],
  ] as const)('can send %j', async (words, reply) => {
    expect(await send(loginOf(redis.operatorUrl), ...words)).toMatch(reply);
  });
});

test('the users of the guide are those of the service `secrets`', () => {
  const withoutDigests = (lines: string) => lines.trim().replace(/#\w+/g, '#');
  const guide = codeBlock(readDocument('docs/operations/secrets.md'), 'text redis-acl');
  expect(withoutDigests(guide)).toBe(withoutDigests(readFileSync(redis.aclFile, 'utf8')));
});
