import { describe, expect, test } from '@jest/globals';
import { parseDatabaseUrl } from './database-url.ts';

describe('parseDatabaseUrl', () => {
  test.each([
    'postgres://u:p@h/d',
    'postgresql://u:p@h:5433/d?sslmode=require',
    'postgres:///d?host=/run/postgresql',
    'postgres://u:p@h1:5432,h2:5433/d?target_session_attrs=read-write',
    'postgres://u:p@h1,[::1]:5433,h3/d',
  ])('reads %s', (url) => {
    expect(parseDatabaseUrl(url)).toEqual({ engine: 'postgres', url });
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
