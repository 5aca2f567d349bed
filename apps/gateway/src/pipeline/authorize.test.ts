import { describe, expect, test } from '@jest/globals';
import type { VerifiedRequest } from '../authentication/authenticator.ts';
import type { Route } from '../routes/route.ts';
import { authorize } from './authorize.ts';

const route = { credentials: ['bearer'], scope: 'device:write' } as unknown as Route;

function verified(kind: string, ...scopes: readonly string[]): VerifiedRequest {
  return { kind, principal: { scopes: new Set(scopes) } } as unknown as VerifiedRequest;
}

describe('a verified caller', () => {
  test('may use a route that accepts the credential and whose scope the credential has', () => {
    expect(() => authorize(verified('bearer', 'device:write'), route)).not.toThrow();
  });

  test('may use a route without a scope', () => {
    const { scope: _scope, ...open } = route;
    expect(() => authorize(verified('bearer'), open as Route)).not.toThrow();
  });

  test('may not use a route that does not accept the credential', () => {
    expect(() => authorize(verified('signature', 'device:write'), route)).toThrow(
      expect.objectContaining({ code: 'unauthorized', reason: 'credential_kind_not_accepted' }),
    );
  });

  test('may not use a route without its scope, and the challenge names the scope', () => {
    expect(() => authorize(verified('bearer', 'device:read'), route)).toThrow(
      expect.objectContaining({
        code: 'access_denied',
        reason: 'access_denied',
        headers: {
          'WWW-Authenticate': expect.stringContaining(
            'error="insufficient_scope", scope="device:write"',
          ),
        },
      }),
    );
  });
});
