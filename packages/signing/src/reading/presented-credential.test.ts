import { describe, expect, test } from '@jest/globals';
import { splitQueryToken } from './presented-credential.ts';

describe('splitQueryToken', () => {
  test.each([
    ['', undefined, ''],
    ['a=1&b=%zz', undefined, 'a=1&b=%zz'],
    ['access_token=t', 't', ''],
    ['a=1&access_token=t&b=2', 't', 'a=1&b=2'],
    ['a=1&access%5Ftoken=%74&', 't', 'a=1&'],
    ['access_token', '', ''],
    ['xaccess_token=t', undefined, 'xaccess_token=t'],
  ])('reads %p as the token %p and leaves %p', (query, token, rest) => {
    expect(splitQueryToken(query)).toEqual({ token, rest });
  });

  test.each(['access_token=a&access_token=a', 'access_token=a&%61ccess_token=b'])(
    'rejects %p',
    (query) => {
      expect(() => splitQueryToken(query)).toThrow(
        expect.objectContaining({ code: 'multiple_credentials' }),
      );
    },
  );
});
