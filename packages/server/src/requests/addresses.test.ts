import { describe, expect, test } from '@jest/globals';
import { addressGroup } from './addresses.ts';

describe('the group of addresses that shares one limit', () => {
  test.each([
    ['203.0.113.7', '203.0.113.7'],
    ['::ffff:203.0.113.7', '203.0.113.7'],
    ['::ffff:cb00:7107', '203.0.113.7'],
    ['2001:db8:1:2ff::1', '2001:db8:1:200/56'],
    ['2001:db8:1:200:ffff:ffff:ffff:ffff', '2001:db8:1:200/56'],
    ['2001:db8:1:300::1', '2001:db8:1:300/56'],
    ['fe80::1%eth0', 'fe80:0:0:0/56'],
    ['::1', '0:0:0:0/56'],
    ['64:ff9b::192.0.2.1', '64:ff9b:0:0/56'],
    ['no address', 'no address'],
  ])('for %s is %s', (address, group) => {
    expect(addressGroup(address)).toBe(group);
  });
});
