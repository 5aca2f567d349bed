import { describe, expect, test } from '@jest/globals';
import type { Request } from 'express';
import { FORM, findTransportError } from './transport.ts';

const machine = `Basic ${btoa('web:secret')}`;

/** What the check reads of a request. */
function errorOf(headers: Readonly<Record<string, string>>, url = '/token', method = 'POST') {
  const rawHeaders = Object.entries(headers).flat();
  const request = { method, url, headers, rawHeaders } as unknown as Request;
  return findTransportError(request, [FORM]);
}

describe('The transport of a client endpoint', () => {
  test.each([
    ['a form', { 'content-type': FORM }],
    ['a form with a charset', { 'content-type': `${FORM}; charset="UTF-8"` }],
    ['no type', {}],
    ['credentials', { authorization: machine }],
  ])('accepts %s', (_name, headers) => {
    expect(errorOf(headers)).toBeUndefined();
  });

  test.each<[number, string, string, Readonly<Record<string, string>>, string?, string?]>([
    [405, 'method_not_allowed', 'answers POST only', {}, '/token', 'GET'],
    ...[
      ...['client_secret', 'client_assertion', 'code', 'refresh_token'],
      ...['password', 'token', 'device_code'],
    ].map((name): [number, string, string, Readonly<Record<string, string>>, string] => [
      400,
      'parameter_misplaced',
      `${name} belongs in the body, never in the address.`,
      {},
      `/introspect?${name}=x`,
    ]),
    ...['gzip', 'br', 'gzip, gzip'].map(
      (encoding): [number, string, string, Readonly<Record<string, string>>] => [
        415,
        'unsupported_media_type',
        'uncompressed',
        { 'content-encoding': encoding },
      ],
    ),
    [413, 'payload_too_large', 'larger than', { 'content-length': '60000' }],
    [415, 'body_type_wrong', `Send ${FORM} in UTF-8.`, { 'content-type': 'text/plain' }],
    [415, 'body_type_wrong', 'Send', { 'content-type': `${FORM}; charset=latin1` }],
    [415, 'body_type_wrong', 'The body is JSON. ', { 'content-type': 'application/json' }],
    ...(
      [
        ['Bearer x', 'does not use the scheme Basic'],
        ['Basic id:secret', 'are not Base64'],
        [`Basic ${btoa('id:\xe9')}`, 'are not UTF-8'],
        [`Basic ${btoa('secret')}`, 'have no colon'],
        [`Basic ${btoa(':secret')}`, 'The client id in the Authorization header is empty'],
        [`Basic ${btoa('id:100%')}`, 'invalid percent-encoding'],
      ] as const
    ).map(([authorization, text]): [number, string, string, Readonly<Record<string, string>>] => [
      401,
      'client_authentication_malformed',
      text,
      { authorization },
    ]),
  ])('rejects with %d %s: %s', (status, reason, text, headers, url = '/token', method = 'POST') => {
    const error = errorOf(headers, url, method);
    expect(error).toMatchObject({ status, reason, description: expect.stringContaining(text) });
    // RFC 6749 §5.2
    expect(error?.description).toMatch(/^[\x20\x21\x23-\x5b\x5d-\x7e]+$/);
  });

  test('rejects a second Authorization header, which Node drops silently', () => {
    const rawHeaders = ['Authorization', machine, 'authorization', machine];
    const request = { method: 'POST', url: '/token', headers: { authorization: machine } };
    const error = findTransportError({ ...request, rawHeaders } as unknown as Request, [FORM]);
    expect(error).toMatchObject({ status: 400, reason: 'client_authentication_malformed' });
  });
});
