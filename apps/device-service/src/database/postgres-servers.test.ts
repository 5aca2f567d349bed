import { describe, expect, test } from '@jest/globals';
import { readPostgresServers } from './database-url.ts';

describe('the servers of a connection URI', () => {
  test('are all of its hosts, each with the user, database and parameters', () => {
    const url =
      'postgres://u:p%40@h1:5432,h2,[::1]:5433/d?sslmode=require&target_session_attrs=read-write';

    expect(readPostgresServers(url)).toEqual({
      urls: [
        'postgres://u:p%40@h1:5432/d?sslmode=require',
        'postgres://u:p%40@h2/d?sslmode=require',
        'postgres://u:p%40@[::1]:5433/d?sslmode=require',
      ],
      onlyWritable: true,
    });
  });

  test.each([
    ['postgres://h/d', ['postgres://h/d'], false],
    ['postgres://h/d?target_session_attrs=read-write', ['postgres://h/d'], true],
    ['postgres://h/d?target_session_attrs=primary', ['postgres://h/d'], true],
    ['postgres://h1,h2/d', ['postgres://h1/d', 'postgres://h2/d'], true],
  ])('of %s must accept writes if a failover is possible', (url, urls, onlyWritable) => {
    expect(readPostgresServers(url)).toEqual({ urls, onlyWritable });
  });
});
