import { describe, expect, test } from '@jest/globals';
import { parseDatabaseUrl } from './database-url.ts';

describe('parseDatabaseUrl', () => {
  test('repeats the user, database and parameters for each host of PostgreSQL', () => {
    const url =
      'postgres://u:p%40@h1:5432,h2,[::1]:5433/d?sslmode=require&target_session_attrs=read-write';

    expect(parseDatabaseUrl(url)).toEqual({
      engine: 'postgres',
      urls: [
        'postgres://u:p%40@h1:5432/d?sslmode=require',
        'postgres://u:p%40@h2/d?sslmode=require',
        'postgres://u:p%40@[::1]:5433/d?sslmode=require',
      ],
      onlyWritable: true,
    });
  });

  test.each([
    ['postgres://u:p@h/d', ['postgres://u:p@h/d'], false],
    ['postgresql://h:5433/d?sslmode=require', ['postgresql://h:5433/d?sslmode=require'], false],
    ['postgres:///d?host=%2Fpg', ['postgres:///d?host=%2Fpg'], false],
    ['postgres://h/d?target_session_attrs=read-write', ['postgres://h/d'], true],
    ['postgres://h/d?target_session_attrs=primary', ['postgres://h/d'], true],
    ['postgres://h1,h2/d', ['postgres://h1/d', 'postgres://h2/d'], true],
  ])('reads %s', (url, urls, onlyWritable) => {
    expect(parseDatabaseUrl(url)).toEqual({ engine: 'postgres', urls, onlyWritable });
  });

  test.each([
    ['sqlite:./data/devices.sqlite', './data/devices.sqlite'],
    ['sqlite:devices.sqlite', 'devices.sqlite'],
    ['sqlite:/var/lib/devices.sqlite', '/var/lib/devices.sqlite'],
    ['sqlite:///var/lib/devices.sqlite', '/var/lib/devices.sqlite'],
  ])('reads %s', (url, path) => {
    expect(parseDatabaseUrl(url)).toEqual({ engine: 'sqlite', path });
  });

  test.each([
    ['postgres://u:secret@h', 'must be postgres:'],
    ['postgres://u:secret@/d', 'must be postgres:'],
    ['postgres:secret', 'must be postgres:'],
    ['postgres://u:secret@h1,,h2/d', 'must be postgres:'],
    ['postgres://u:secret@h1:65536,h2/d', 'must be postgres:'],
    ['postgres://u:secret@h1,h2/d?target_session_attrs=standby', 'target_session_attrs=read-write'],
    ['postgres://u:secret@h1,h2/d?target_session_attrs=any', 'target_session_attrs=read-write'],
    ['postgres:///d?host=h1,h2&password=secret', 'must name several hosts before the database'],
    ['postgresqlx://u:secret@h/d', 'must be postgres:'],
    ['sqlite:', 'must be sqlite:'],
    ['sqlite://host/devices.sqlite', 'must be sqlite:'],
    ['sqlite:x?mode=ro', 'must be sqlite:'],
    ['sqlite:data/', 'must be sqlite:'],
    ['sqlite::memory:', 'loses every device'],
    ['devices.sqlite', 'must be sqlite:'],
  ])('rejects %s without quoting it', (url, problem) => {
    const parsed = parseDatabaseUrl(url);

    expect(parsed).toEqual({ problem: expect.stringContaining(problem) });
    expect(JSON.stringify(parsed)).not.toContain('secret');
  });
});
