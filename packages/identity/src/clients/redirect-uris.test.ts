import { describe, expect, test } from '@jest/globals';
import { compareRedirectUri, isAllowedRedirectUri } from '../clients/redirect-uris.ts';

describe('a redirect URI that may be registered', () => {
  test.each([
    ['https://rp.example/cb', 'web'],
    ['https://rp.example', 'web'],
    ['https://rp.example/', 'web'],
    ['https://rp.example:8443/cb', 'web'],
    ['https://rp.example/cb?x=1', 'web'],
    ['http://localhost:9010/callback', 'web'],
    ['http://127.0.0.1/cb', 'native'],
    ['http://[::1]:4000/cb', 'native'],
    ['com.example.app:/callback', 'native'],
    ['com.example.app://callback', 'native'],
    ['https://app.example/claimed', 'native'],
  ] as const)('%s of a %s application', (uri, type) => {
    expect(isAllowedRedirectUri(uri, type)).toBe(true);
  });
});

describe('a redirect URI that may not be registered', () => {
  test.each([
    ['a wildcard', 'https://*.rp.example/cb'],
    ['a wildcard in the path', 'https://rp.example/*'],
    ['a fragment', 'https://rp.example/cb#frag'],
    ['an empty fragment', 'https://rp.example/cb#'],
    ['script', 'javascript:alert(1)//'],
    ['script in capitals', 'JavaScript:alert(1)'],
    ['data', 'data:text/html,x'],
    ['a file', 'file:///etc/passwd'],
    ['a blob', 'blob:https://rp.example/1'],
    ['http without loopback', 'http://rp.example/cb'],
    ['http with a name that resembles loopback', 'http://localhost.evil.example/cb'],
    ['http with a name that resembles a loopback address', 'http://127.0.0.1.evil.example/cb'],
    ['nothing', ''],
    ['a path', '/cb'],
    ['no scheme', '//rp.example/cb'],
    ['a user', 'https://rp.example@evil.example/cb'],
    ['an empty user', 'https://@rp.example/cb'],
    ['a password', 'https://user:pw@rp.example/cb'],
    ['backslashes', 'https:\\\\rp.example\\cb'],
    ['a backslash before the host', 'https://evil.example\\@rp.example/cb'],
    ['one slash', 'https:/rp.example/cb'],
    ['dot segments', 'https://rp.example/cb/../evil'],
    ['encoded dot segments', 'https://rp.example/cb/%2e%2e/evil'],
    ['a host in capitals', 'https://RP.example/cb'],
    ['the default port', 'https://rp.example:443/cb'],
    ['a short loopback address', 'http://127.1/cb'],
    ['other letters', 'https://bücher.example/cb'],
    ['a full-width dot', 'https://rp\uff0eexample/cb'],
    ['a zero-width space', 'https://rp.exam\u200bple/cb'],
    ['a leading space', ' https://rp.example/cb'],
    ['a trailing space', 'https://rp.example/cb '],
    ['a tab', 'https://rp.exa\tmple/cb'],
    ['a line break', 'https://rp.example/cb\r\n'],
    ['a scheme of an application', 'com.example.app:/callback'],
  ])('has %s', (_name, uri) => {
    expect(isAllowedRedirectUri(uri, 'web')).toBe(false);
  });

  test.each(['myapp:/callback', 'javascript:alert(1)', 'intent://x', 'com.example.app:/cb#a'])(
    'is %s even of a native application',
    (uri) => {
      expect(isAllowedRedirectUri(uri, 'native')).toBe(false);
    },
  );

  test.each(['code', 'state', 'iss', 'error'])(
    'has the parameter %s, which the response would overwrite',
    (name) => {
      expect(isAllowedRedirectUri(`https://rp.example/cb?x=1&${name}=a`, 'web')).toBe(false);
    },
  );
});

describe('the redirect URI of a request', () => {
  const client = {
    applicationType: 'web',
    redirectUris: ['https://rp.example/cb', 'https://other.example', 'http://127.0.0.1:4000/cb'],
  } as const;
  const compare = (uri: string, applicationType: 'web' | 'native' = 'web') =>
    compareRedirectUri(uri, { ...client, applicationType });

  test.each([
    ['https://rp.example/cb/', 'trailingSlash'],
    ['https://other.example/', 'trailingSlash'],
    ['https://RP.example/cb', 'normalForm'],
    ['https://rp.example:443/cb', 'normalForm'],
    ['https://rp.example/CB', 'letterCase'],
    ['https://rp.example/cb?x=1', 'query'],
    ['http://rp.example/cb', 'scheme'],
    ['https://rp.example:8443/cb', 'port'],
    ['http://127.0.0.1:4001/cb', 'port'],
    ['https://rp.example/callback', 'path'],
    ['https://evil.example/cb', 'unknown'],
    ['rp.example/cb', 'malformed'],
  ])('%s is rejected: %s', (uri, difference) => {
    expect(compare(uri)).toMatchObject({ accepted: undefined, difference });
  });

  test('is accepted if it is equal, and at any loopback port of a native application', () => {
    expect(compare('https://rp.example/cb').accepted).toBe('exact');
    expect(compare('http://127.0.0.1:4001/cb', 'native').accepted).toBe('loopbackPort');
    expect(compare('https://rp.example:8443/cb', 'native').accepted).toBeUndefined();
  });
});
