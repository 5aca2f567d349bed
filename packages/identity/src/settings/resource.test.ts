import { describe, expect, test } from '@jest/globals';
import { canonicalResource, describeScope, resourceSchema } from './resource.ts';

const valid = {
  resource: 'https://billing.example/api',
  name: 'Billing',
  scopes: { 'billing:read': { description: 'See invoices' } },
};
const isValid = (changes: object) => resourceSchema.safeParse({ ...valid, ...changes }).success;

describe('a resource', () => {
  test.each([
    'https://billing.example',
    'https://billing.example:8443/a/b',
    'http://localhost:9010/mcp',
  ])('can be %s', (resource) => {
    expect(isValid({ resource })).toBe(true);
  });

  test.each([
    ...['https://billing.example/', 'https://Billing.example', 'https://billing.example:443'],
    ...['https://billing.example/#a', 'https://billing.example/?a', 'https://a@billing.example'],
    ...[
      'https://billing.example/a/',
      'https://billing.example/a//b',
      'https://a.example/1/2/3/4/5',
    ],
    ...['https://billing.example/a:b', 'https://billing.example/a%2Fb', 'https://a.example/..;a'],
    ...['http://billing.example', 'urn:billing', 'billing', '', 'https://billing.example/a/../b'],
  ])('cannot be %s', (resource) => {
    expect(isValid({ resource })).toBe(false);
  });

  test.each(['device:read', 'openid', 'a b', 'a"b', '', 'ä'])(
    'cannot declare the scope %j',
    (name) => {
      expect(isValid({ scopes: { [name]: { description: 'Text' } } })).toBe(false);
    },
  );

  test('describes a scope in the language of the page, otherwise in the first one', () => {
    const texts = { description: { en: 'See', zh: '查看' }, roles: [] };
    expect(['en', 'zh', 'de'].map((language) => describeScope(texts, language))).toEqual([
      'See',
      '查看',
      'See',
    ]);
    expect(describeScope({ description: 'One text', roles: [] }, 'zh')).toBe('One text');
  });

  test.each([{ xx: 'x' }, {}, '', ' '])('cannot describe a scope by %j', (description) => {
    expect(isValid({ scopes: { a: { description } } })).toBe(false);
  });

  test('is the same with and without a slash after its host', () => {
    expect(canonicalResource('https://Billing.example/')).toBe('https://billing.example');
    expect(canonicalResource('https://billing.example/a/')).toBe('https://billing.example/a/');
    expect(canonicalResource('not a URL')).toBe('not a URL');
  });
});
