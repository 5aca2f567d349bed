import { describe, expect, test } from '@jest/globals';
import {
  acrLevel,
  ONE_FACTOR,
  reportedAcr,
  requestedAcr,
  TWO_FACTORS,
} from '../users/authentication-context.ts';
import { secondFactorPolicy, secondFactorSchema } from './second-factor.ts';

const user = { orgId: 'acme', roles: ['admin', 'toString'] };

describe('the policy of second factors', () => {
  test.each([
    [{}, 'off'],
    [{ default: 'optional' }, 'optional'],
    [
      { default: 'required', organizations: { acme: 'off' }, clients: { web: 'optional' } },
      'required',
    ],
    [{ organizations: { acme: 'optional', other: 'required' } }, 'optional'],
    [{ roles: { admin: 'required', guest: 'optional' } }, 'required'],
    [{ clients: { web: 'required' } }, 'required'],
    [{ clients: { other: 'required' } }, 'off'],
  ])('is the strongest that applies: %j is %s', (declared, policy) => {
    expect(secondFactorPolicy(secondFactorSchema.parse(declared), user, 'web')).toBe(policy);
  });

  test('is optional without a client if any client has one, and off by default', () => {
    const declared = secondFactorSchema.parse({ clients: { web: 'required', other: 'off' } });
    expect(secondFactorPolicy(declared, user)).toBe('optional');
    expect(secondFactorPolicy(undefined, user, 'web')).toBe('off');
  });
});

describe('a requested acr', () => {
  const phr = 'phr';
  test.each([
    [undefined, undefined, 1],
    [ONE_FACTOR, undefined, 1],
    [TWO_FACTORS, undefined, 2],
    [`phr ${TWO_FACTORS} gold`, undefined, 2],
    ['gold', undefined, 1],
    [undefined, { value: TWO_FACTORS }, 2],
    [undefined, { values: [phr] }, 3],
    [undefined, null, 1],
  ])('of acr_values %s and the claim %j needs the level %i', (acr_values, acr, level) => {
    const claims = JSON.stringify({ id_token: { acr } });
    expect(requestedAcr({ acr_values, claims }).level).toBe(level);
  });

  test('is essential only in claims', () => {
    const claims = JSON.stringify({
      id_token: { acr: { essential: true, values: [TWO_FACTORS] } },
    });
    expect(requestedAcr({ claims }).isEssential).toBe(true);
    expect(requestedAcr({ claims, acr_values: ONE_FACTOR }).isEssential).toBe(false);
  });

  test('is reported if the session satisfies it, otherwise the session is', () => {
    const asked = (acr_values: string) => requestedAcr({ acr_values });
    expect(reportedAcr(TWO_FACTORS, asked(ONE_FACTOR))).toBe(ONE_FACTOR);
    expect(reportedAcr(TWO_FACTORS, asked(`${ONE_FACTOR} ${TWO_FACTORS}`))).toBe(TWO_FACTORS);
    expect(reportedAcr(ONE_FACTOR, asked(TWO_FACTORS))).toBe(ONE_FACTOR);
    expect(reportedAcr(undefined, asked(TWO_FACTORS))).toBeUndefined();
    expect([acrLevel(undefined), acrLevel('gold'), acrLevel(phr)]).toEqual([1, 1, 3]);
  });
});
