import { describe, expect, test } from '@jest/globals';
import { parseStoreUrl } from './store-url.ts';

describe('a store URL', () => {
  test.each([
    ['sqlite:data/store.db', { engine: 'sqlite', path: 'data/store.db' }],
    ['sqlite:/var/lib/store.db', { engine: 'sqlite', path: '/var/lib/store.db' }],
    [
      'redis://localhost',
      {
        engine: 'redis',
        endpoint: { host: 'localhost', port: 6379 },
        tls: false,
        database: 0,
      },
    ],
    [
      'rediss://user:p%40ss%2Fword@redis.example:6380/3',
      {
        engine: 'redis',
        endpoint: { host: 'redis.example', port: 6380 },
        tls: true,
        database: 3,
        username: 'user',
        password: 'p@ss/word',
      },
    ],
    [
      'redis://:secret@[::1]:7000',
      {
        engine: 'redis',
        endpoint: { host: '::1', port: 7000 },
        tls: false,
        database: 0,
        password: 'secret',
      },
    ],
    [
      'redis+sentinel://:secret@h1:26379,h2/my-master',
      {
        engine: 'redis-sentinel',
        endpoints: [
          { host: 'h1', port: 26379 },
          { host: 'h2', port: 26379 },
        ],
        masterName: 'my-master',
        tls: false,
        password: 'secret',
      },
    ],
    [
      'rediss+sentinel://h1/my-master',
      {
        engine: 'redis-sentinel',
        endpoints: [{ host: 'h1', port: 26379 }],
        masterName: 'my-master',
        tls: true,
      },
    ],
    [
      'rediss+cluster://h1',
      { engine: 'redis-cluster', endpoints: [{ host: 'h1', port: 6379 }], tls: true },
    ],
    [
      'redis+cluster://h1:7000,h2:7001',
      {
        engine: 'redis-cluster',
        endpoints: [
          { host: 'h1', port: 7000 },
          { host: 'h2', port: 7001 },
        ],
        tls: false,
      },
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
