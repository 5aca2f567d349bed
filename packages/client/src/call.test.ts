import { describe, expect, test } from '@jest/globals';
import { readCall } from './call.ts';

const root = new URL('https://gateway.example');
const below = new URL('https://host.example/tenant');

async function read(gateway: URL, input: string | URL | Request) {
  const { url, path } = await readCall(gateway, input);
  return [url.href, path];
}

describe('readCall', () => {
  test.each([
    [root, '/api/device?a=1', 'https://gateway.example/api/device?a=1'],
    [root, new URL('https://gateway.example/api/device'), 'https://gateway.example/api/device'],
    [below, '/api/device?a=1', 'https://host.example/tenant/api/device?a=1'],
    [below, 'https://host.example/tenant/api/device', 'https://host.example/tenant/api/device'],
    [
      below,
      new Request('https://host.example/tenant/api/device'),
      'https://host.example/tenant/api/device',
    ],
    [
      new URL('https://host.example/tenant/'),
      '/api/device',
      'https://host.example/tenant/api/device',
    ],
  ])('at %s, signs the path without that of the gateway: %s', async (gateway, input, sent) => {
    expect(await read(gateway, input)).toEqual([sent, '/api/device']);
  });

  test.each([
    [root, 'https://attacker.example/api/device'],
    [root, '//attacker.example/api/device'],
    [below, '//attacker.example/tenant/api/device'],
    [root, '/\\attacker.example/api/device'],
    [below, '/../api/device'],
    [below, '/%2e%2e/api/device'],
    [below, 'https://host.example/api/device'],
    [below, 'https://host.example/tenant-2/api/device'],
    [below, 'api/device'],
  ])('at %s, rejects %s', async (gateway, input) => {
    await expect(read(gateway, input)).rejects.toMatchObject({ code: 'wrong_origin' });
  });
});
