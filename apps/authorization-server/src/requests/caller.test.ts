import type { IncomingMessage } from 'node:http';
import { describe, expect, test } from '@jest/globals';
import { addressGroupOf } from './caller.ts';

const requestFrom = (ip: string | undefined, remoteAddress = '192.0.2.1') =>
  ({ ip, socket: { remoteAddress } }) as unknown as IncomingMessage;

describe('the address a request is counted for', () => {
  test.each([
    ['203.0.113.7', '203.0.113.7'],
    ['2001:db8:1:200::1', '2001:db8:1:200/56'],
    ['fe80::1%eth0', 'fe80:0:0:0/56'],
  ])('of %s is %s', (ip, expected) => {
    expect(addressGroupOf(requestFrom(ip))).toBe(expected);
  });

  test.each(['garbage', '[::', '', '203.0.113.7:80', '999.1.1.1'])(
    'is that of the connection where a proxy passed on %j',
    (ip) => {
      expect(addressGroupOf(requestFrom(ip))).toBe('192.0.2.1');
    },
  );
});
