import { describe, expect, test } from '@jest/globals';
import { parseStoreUrl } from './store-url.ts';

describe('a store URL', () => {
  const at = (host: string, port: number) => ({ host, port });
  const connection = {};
  const redis = { engine: 'redis', endpoint: at('localhost', 6379), database: 0, connection };
  const sentinel = { engine: 'redis-sentinel', masterName: 'my-master', connection };
  const sentinels = [at('h1', 26379), at('h2', 26379)];
  const cluster = { engine: 'redis-cluster', connection };
  const user = { username: 'user', password: 'p@ss/word', tls: {} };
  const password = 'secret';
  test.each([
    ['sqlite:data/store.db', { engine: 'sqlite', path: 'data/store.db' }],
    ['sqlite:/var/lib/store.db', { engine: 'sqlite', path: '/var/lib/store.db' }],
    ['redis://localhost', redis],
    [
      'rediss://user:p%40ss%2Fword@redis.example:6380/3',
      { ...redis, connection: user, endpoint: at('redis.example', 6380), database: 3 },
    ],
    [
      'redis://:secret@[::1]:7000',
      { ...redis, endpoint: at('::1', 7000), connection: { password } },
    ],
    [
      'redis+sentinel://:secret@h1:26379,h2/my-master',
      { ...sentinel, endpoints: sentinels, connection: { password } },
    ],
    [
      'rediss+sentinel://h1/my-master',
      { ...sentinel, endpoints: [sentinels[0]], connection: { tls: {} } },
    ],
    ['rediss+cluster://h1', { ...cluster, endpoints: [at('h1', 6379)], connection: { tls: {} } }],
    [
      'redis+cluster://h1:7000,h2:7001',
      { ...cluster, endpoints: [at('h1', 7000), at('h2', 7001)] },
    ],
  ])('%s is understood', (url, location) => {
    expect(parseStoreUrl(url)).toEqual(location);
  });

  test.each([
    '',
    'sqlite:',
    'sqlite::memory:',
    'sqlite://canary/store.db',
    'memory:',
    'postgres://user:canary@host/db',
    'redis:canary',
    'redis://user:canary@',
    'redis://user:canary@host:0',
    'redis://user:canary@host:99999',
    'redis://user:canary@host:port',
    'redis://user:canary@h1,h2',
    'redis://user:canary@host/name',
    'redis://user:canary@host?enableOfflineQueue=true',
    'redis://user:canary@ho st',
    'redis://user:%zzcanary@host',
    'redis://user:canary/slash@host/x',
    'redis+sentinel://user:canary@host',
    'redis+cluster://user:canary@host/0',
  ])('%s is rejected without quoting its credentials', (url) => {
    expect(() => parseStoreUrl(url)).toThrow(TypeError);
    expect(() => parseStoreUrl(url)).not.toThrow(/canary/);
  });
});
