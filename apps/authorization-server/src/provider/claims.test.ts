import { TWO_FACTORS } from '@gatehouse/identity';
import { describe, expect, test } from '@jest/globals';
import type { ClaimsParameter, Client, KoaContextWithOIDC } from 'oidc-provider';
import { claimsWithin, limitRequestedClaims, scopesOfClaims } from './claims.ts';

function limit(claims: unknown, { strict = false, scope = 'openid email' } = {}): unknown {
  const params: { claims?: string } = {};
  limitRequestedClaims({ strict })(
    { oidc: { params } } as unknown as KoaContextWithOIDC,
    claims as ClaimsParameter,
    { scope } as Client,
  );
  return JSON.parse(params.claims ?? 'null');
}

describe('the requested claims', () => {
  test('are limited to those of the scopes and of the sign-in', () => {
    const requested = { id_token: { email: null, name: null, auth_time: { essential: true } } };
    expect(claimsWithin(requested, ['openid', 'email'])).toEqual({
      id_token: { email: null, auth_time: { essential: true } },
    });
    expect(claimsWithin(requested, [])).toEqual({ id_token: { auth_time: { essential: true } } });
  });

  test('are limited to the scopes of the client', () => {
    const requested = { id_token: { email: null, name: null }, userinfo: { name: null } };
    expect(limit(requested)).toEqual({ id_token: { email: null }, userinfo: {} });
  });

  test('of the ID token are those of the sign-in in the strict profile', () => {
    const requested = { id_token: { email: null, sub: null }, userinfo: { email: null } };
    expect(limit(requested, { strict: true })).toEqual({
      id_token: { sub: null },
      userinfo: { email: null },
    });
  });

  test.each([{ value: 'gold' }, { values: ['gold'] }])(
    'contain no essential acr that is unknown: %j',
    (acr) => {
      expect(() => limit({ id_token: { acr: { essential: true, ...acr } } })).toThrow(
        expect.objectContaining({ error: 'unmet_authentication_requirements' }),
      );
      expect(limit({ id_token: { acr } })).toEqual({ id_token: { acr } });
      expect(limit({ id_token: { acr: { essential: true } } })).toEqual({
        id_token: { acr: { essential: true } },
      });
    },
  );

  test('contain an essential acr that is known, in a list', () => {
    const requested = (acr: object) => ({ id_token: { acr: { essential: true, ...acr } } });
    const known = requested({ values: ['gold', TWO_FACTORS] });
    expect(limit(known)).toEqual(known);
    expect(() => limit(requested({ values: TWO_FACTORS }))).toThrow(
      expect.objectContaining({ error: 'invalid_request' }),
    );
  });

  test.each([{ id_token: { email: [] } }, { userinfo: { email: 1 } }, { userinfo: { a: 'b' } }])(
    'have members that are null or objects: %j',
    (claims) => {
      expect(() => limit(claims)).toThrow(expect.objectContaining({ error: 'invalid_request' }));
    },
  );

  test('name the scopes that they need', () => {
    const claims = JSON.stringify({
      id_token: { sub: null, email: null },
      userinfo: { org: null },
    });
    expect(scopesOfClaims(claims)).toEqual(['email', 'groups']);
    expect(scopesOfClaims('{"userinfo":null}')).toEqual([]);
    expect(scopesOfClaims(undefined)).toEqual([]);
  });
});
