import { expect, test } from '@jest/globals';
import { z } from 'zod';
import { effectiveSettings } from './effective-settings.ts';

const schema = z.object({
  HOST: z.string().default('127.0.0.1'),
  ROUTES_FILE: z.string().optional().meta({ default: 'none: `builtIn` routes' }),
  MAIL_FROM: z.string().optional(),
  STORE_URL: z.string().optional().meta({ secret: true, default: 'a file' }),
  SMTP_URL: z.string().optional(),
  MAXIMUM_CONNECTIONS: z.string().default('8192'),
});

test('a setting has its value and its origin, and a secret has no value', () => {
  const environment = {
    HOST: '0.0.0.0',
    STORE_URL: 'redis://:marker@host',
    SMTP_URL_FILE: '/marker',
    UNKNOWN: 'marker',
  };
  const settings = effectiveSettings(schema, environment);
  expect(settings).toEqual([
    { name: 'HOST', value: '0.0.0.0', origin: 'variable' },
    { name: 'ROUTES_FILE', value: 'none: builtIn routes', origin: 'default' },
    { name: 'MAIL_FROM', origin: 'default' },
    { name: 'STORE_URL', origin: 'variable' },
    { name: 'SMTP_URL', origin: 'file' },
  ]);
  expect(JSON.stringify(settings)).not.toContain('marker');
});

test('an empty variable is not set, and a former name counts as the variable', () => {
  const rates = z.object({ CLIENT_ENDPOINT_RATE_LIMIT: z.string().default('1/1') });
  const [given] = effectiveSettings(rates, { CLIENT_REQUESTS_PER_MINUTE: '7' });
  expect(given).toEqual({
    name: 'CLIENT_ENDPOINT_RATE_LIMIT',
    value: '7/60',
    origin: 'variable',
  });
  const [unset] = effectiveSettings(rates, { CLIENT_ENDPOINT_RATE_LIMIT: '' });
  expect(unset).toMatchObject({ value: '1/1', origin: 'default' });
});

test('a value of any length has at most 200 characters', () => {
  const [setting] = effectiveSettings(schema, { HOST: 'h'.repeat(5000) });
  expect(setting?.value).toHaveLength(200);
});
