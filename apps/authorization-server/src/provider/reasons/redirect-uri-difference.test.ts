import { expect, test } from '@jest/globals';
import { redirectUriDifference, registrationDifference } from './redirect-uri-difference.ts';

const registered = 'https://app.example/callback?a=1';

test.each([
  ['redirect_uri_letter_case', 'https://app.example/Callback?a=1'],
  ['redirect_uri_other_scheme', 'http://app.example/callback?a=1'],
  ['redirect_uri_other_host', 'https://app2.example/callback?a=1'],
  ['redirect_uri_other_port', 'https://app.example:8443/callback?a=1'],
  ['redirect_uri_other_path', 'https://app.example/other?a=1'],
  ['redirect_uri_trailing_slash', 'https://app.example/callback/?a=1'],
  ['redirect_uri_other_query', 'https://app.example/callback?a=2'],
  ['redirect_uri_other_query', 'https://app.example/callback?a=1#b'],
  ['redirect_uri_encoding', 'https://app.example:443/callback?a=1'],
  ['redirect_uri_differs', 'https://app2.example/other?a=1'],
  ['redirect_uri_differs', 'no address'],
])('The reason is %s for %s.', (reason, sent) => {
  expect(redirectUriDifference(registered, sent)).toBe(reason);
});

test('The reason is that of the most similar registered redirect URI.', () => {
  const [other, sent] = ['https://unrelated.example/x/y', 'https://app.example/callback/?a=1'];
  expect(registrationDifference([other, registered], sent)).toBe('redirect_uri_trailing_slash');
  expect(registrationDifference([other], sent)).toBe('redirect_uri_differs');
  expect(registrationDifference([], sent)).toBe('redirect_uri_unregistered');
  expect(redirectUriDifference('no address', sent)).toBe('redirect_uri_differs');
});
