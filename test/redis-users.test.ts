// requires: redis-server redis-cli
/** The users of Redis in containers, with the rights from the service `secrets`. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type ContainerRedis, startContainerRedis } from './container-redis.ts';

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
