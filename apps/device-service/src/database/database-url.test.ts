import { describe, expect, test } from '@jest/globals';
import { parseDatabaseUrl } from './database-url.ts';

describe('parseDatabaseUrl', () => {
  test.each([
    'postgres://u:p@h/d',
    'postgresql://u:p@h:5433/d?sslmode=require',
    'postgres:///d?host=/run/postgresql',
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
    ['postgresqlx://u:secret@h/d', 'must be postgres:'],
    ['sqlite:', 'must be sqlite:'],
    ['sqlite://host/devices.sqlite', 'must be sqlite:'],
    ['sqlite:x?mode=ro', 'must be sqlite:'],
    ['sqlite:data/', 'must be sqlite:'],
    ['sqlite::memory:', 'loses every device'],
    ['devices.sqlite', 'must be sqlite:'],
  ])('refuses %s without repeating it', (url, problem) => {
    const parsed = parseDatabaseUrl(url);

    expect(parsed).toEqual({ problem: expect.stringContaining(problem) });
    expect(JSON.stringify(parsed)).not.toContain('secret');
  });
});
