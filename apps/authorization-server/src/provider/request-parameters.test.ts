import { describe, expect, test } from '@jest/globals';
import { resolveScope } from './request-parameters.ts';

const registered = ['device:read', 'device:write', 'openid'];

function resolve(requested: unknown, strict = false, excluded: readonly string[] = []): string {
  return resolveScope({
    requested,
    registered,
    excluded,
    securityProfile: strict ? 'strict' : 'compatible',
  });
}

function rejection(scope: string | undefined, description: string) {
  return expect.objectContaining({
    error: 'invalid_scope',
    error_description: description,
    ...(scope !== undefined && { scope }),
  });
}

describe('the granted scope', () => {
  test('without a request is everything that is registered and not excluded', () => {
    expect(resolve(undefined)).toBe(registered.join(' '));
    expect(resolve(undefined, true, ['openid'])).toBe('device:read device:write');
    expect(
      resolveScope({
        requested: undefined,
        registered: [],
        excluded: [],
        securityProfile: 'strict',
      }),
    ).toBe('');
  });

  test('is the allowed part of the request, each scope once, in the requested order', () => {
    expect(resolve('openid  device:read unknown openid ')).toBe('openid device:read');
    expect(resolve('device:read openid', false, ['openid'])).toBe('device:read');
    expect(resolve('device:write device:write', true)).toBe('device:write');
  });

  test.each([
    ['unknown', 'unknown'],
    ['', ''],
  ])('is never empty: %j', (requested, refused) => {
    const rejected = rejection(refused || undefined, 'requested scope is not allowed');
    expect(() => resolve(requested)).toThrow(rejected);
    expect(() => resolve(requested, true)).toThrow(rejected);
  });

  test.each(['device:read unknown', 'device:read ', 'device:read  openid'])(
    'is the whole request in the strict profile, or none of it: %j',
    (requested) => {
      expect(() => resolve(requested, true)).toThrow(
        rejection(undefined, 'requested scope is not allowed'),
      );
    },
  );

  test.each(['device:"read', 'device\\read', 'déjà', 'a\tb', 'device:read x"'])(
    'has only the characters of RFC 6749 §3.3: %j',
    (requested) => {
      expect(() => resolve(requested)).toThrow(
        rejection(undefined, 'scope contains invalid characters'),
      );
    },
  );
});
