import type { IncomingMessage } from 'node:http';
import { describe, expect, test } from '@jest/globals';
import { addressGroupOf } from './caller.ts';

const requestFrom = (ip: string | undefined, remoteAddress = '192.0.2.1') =>
  ({ ip, socket: { remoteAddress } }) as unknown as IncomingMessage;

describe('the address a request is counted for', () => {
  test.each([
    ['203.0.113.7', '203.0.113.7'],
    ['::ffff:203.0.113.7', '203.0.113.7'],
    ['::ffff:cb00:7107', '203.0.113.7'],
  ])('of %s is %s', (ip, expected) => {
    expect(addressGroupOf(requestFrom(ip))).toBe(expected);
  });

  test('is one for all of an IPv6 /56, and another outside', () => {
    const first = addressGroupOf(requestFrom('2001:db8:1:200::1'));
    expect(addressGroupOf(requestFrom('2001:db8:1:2ff:ffff:ffff:ffff:ffff'))).toBe(first);
    expect(addressGroupOf(requestFrom('2001:db8:1:300::1'))).not.toBe(first);
  });

  test.each(['garbage', '[::', '', '203.0.113.7:80', '999.1.1.1'])(
    'is that of the connection where a proxy passed on %j',
    (ip) => {
      expect(addressGroupOf(requestFrom(ip))).toBe('192.0.2.1');
    },
  );

  test('has no zone', () => {
    expect(addressGroupOf(requestFrom('fe80::1%eth0'))).toBe(
      addressGroupOf(requestFrom('fe80::2')),
    );
  });
});
