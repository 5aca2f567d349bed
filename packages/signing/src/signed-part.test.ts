import { describe, expect, test } from '@jest/globals';
import { signedPart } from './version-1-text.ts';

const FORM = 'application/x-www-form-urlencoded';

describe('the part of a request that is signed', () => {
  test.each(['GET', 'HEAD', 'DELETE', 'OPTIONS'])('is the query of %s', (method) => {
    expect(signedPart(method, undefined)).toBe('query');
    expect(signedPart(method, FORM)).toBe('query');
  });

  test.each(['POST', 'PUT', 'PATCH'])('is the body of %s', (method) => {
    expect(signedPart(method, 'application/json')).toBe('body');
    expect(signedPart(method, undefined)).toBe('body');
    expect(signedPart(method, `text/plain; note=${FORM}`)).toBe('body');
  });

  test.each([FORM, `${FORM}; charset=utf-8`, `${FORM.toUpperCase()} ;charset=utf-8`])(
    'is the form parameters of a POST with %s',
    (contentType) => {
      expect(signedPart('POST', contentType)).toBe('form');
    },
  );

  test.each(['TRACE', 'CONNECT', 'get', ''])('does not exist for %p', (method) => {
    expect(signedPart(method, undefined)).toBeUndefined();
  });
});
