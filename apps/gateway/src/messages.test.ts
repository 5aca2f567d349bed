import type { IncomingMessage } from 'node:http';
import { createAddressMatcher } from '@gatehouse/server';
import { describe, expect, test } from '@jest/globals';
import { clientAddress } from './messages.ts';

function from(peer: string, forwardedFor?: string): IncomingMessage {
  const headers = forwardedFor === undefined ? {} : { 'x-forwarded-for': forwardedFor };
  return { socket: { remoteAddress: peer }, headers } as unknown as IncomingMessage;
}

const trusted = createAddressMatcher(['10.0.0.0/8', '::1']);

describe('createAddressMatcher', () => {
  test('matches addresses and ranges of both families', () => {
    const matches = createAddressMatcher(['192.0.2.1', '10.0.0.0/8', '2001:db8::/32']);

    expect(['192.0.2.1', '10.9.8.7', '2001:db8::1'].map(matches)).toEqual([true, true, true]);
    expect(['192.0.2.2', '11.0.0.1', '2001:db9::1'].map(matches)).toEqual([false, false, false]);
  });

  test.each(['', 'garbage', '[::', '1.2.3'])('does not treat %p as an address', (text) => {
    expect(createAddressMatcher(['0.0.0.0/1', '::/1'])(text)).toBe(false);
  });
});

describe('clientAddress', () => {
  test('is the peer unless the peer is a trusted proxy', () => {
    expect(clientAddress(from('203.0.113.9', '192.0.2.1'), trusted)).toBe('203.0.113.9');
  });

  test('is the IPv4 address of an IPv4-mapped IPv6 address', () => {
    expect(clientAddress(from('::ffff:203.0.113.9'), trusted)).toBe('203.0.113.9');
  });

  test('is the nearest address that is not a trusted proxy', () => {
    const chain = '1.1.1.1, 198.51.100.7, 10.0.0.2';

    expect(clientAddress(from('10.0.0.1', chain), trusted)).toBe('198.51.100.7');
  });

  test.each([undefined, '', 'garbage', 'unknown, [::', '198.51.100.7:80'])(
    'is the proxy itself when it forwards %p',
    (forwardedFor) => {
      expect(clientAddress(from('10.0.0.1', forwardedFor), trusted)).toBe('10.0.0.1');
    },
  );
});
