import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, test } from '@jest/globals';
import { createAccessTokenFetch, createSignedFetch, createTokenFetch } from './index.ts';

const gateway = 'https://gateway.example';
const tokenEndpoint = 'https://server.example/token';
const signed = { gateway, clientId: 'demo', secureKey: 'k' };
const token = { gateway, tokenEndpoint, clientId: 'demo', clientSecret: 'k' };

/** As in a program without types. */
const create = {
  createSignedFetch: createSignedFetch as (options: object) => typeof fetch,
  createAccessTokenFetch: createAccessTokenFetch as (options: object) => typeof fetch,
  createTokenFetch: createTokenFetch as (options: object) => typeof fetch,
};

describe('an option that is missing or not valid is named', () => {
  test.each([
    ['createSignedFetch', 'secureKey', { ...signed, secureKey: undefined }],
    ['createSignedFetch', 'secureKey', { ...signed, secureKey: '' }],
    ['createSignedFetch', 'secureKey', { gateway, clientId: 'demo', clientSecret: 'k' }],
    ['createSignedFetch', 'gateway', { ...signed, gateway: undefined, gatewayUrl: gateway }],
    ['createSignedFetch', 'gateway', { ...signed, gateway: 'localhost:8844' }],
    ['createAccessTokenFetch', 'clientId', { ...signed, clientId: undefined }],
    ['createTokenFetch', 'clientSecret', { ...token, clientSecret: undefined, secureKey: 'k' }],
    ['createTokenFetch', 'tokenEndpoint', { ...token, tokenEndpoint: undefined }],
    ['createTokenFetch', 'gateway', { ...token, gateway: undefined }],
  ] as const)('%s: %s', (name, option, options) => {
    expect(() => create[name](options)).toThrow(
      expect.objectContaining({
        code: 'invalid_options',
        message: `The option ${option} is missing or not valid.`,
        hint: `The given options are ${Object.keys(options)}.`,
      }),
    );
  });
});

describe('a server that does not answer is named', () => {
  async function unusedAddress(): Promise<string> {
    const server = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    const { port } = server.address() as AddressInfo;
    await new Promise((resolve) => server.close(resolve));
    return `http://127.0.0.1:${port}`;
  }

  test.each(['GET', 'POST'])('the gateway, for a signed %s', async (method) => {
    const address = await unusedAddress();
    const api = createSignedFetch({ ...signed, gateway: address });
    await expect(api('/api/device', { method })).rejects.toMatchObject({
      code: 'network_error',
      message: `No reply arrived from ${address}.`,
    });
  });

  test('the authorization server, for a token', async () => {
    const address = await unusedAddress();
    const api = createTokenFetch({ ...token, tokenEndpoint: `${address}/token` });
    await expect(api('/api/device')).rejects.toMatchObject({
      code: 'network_error',
      message: `No reply arrived from ${address}.`,
    });
  });

  test('an address that is not that of a token endpoint', async () => {
    const api = createTokenFetch({ ...token, fetch: async () => new Response('<html>') });
    await expect(api('/api/device')).rejects.toMatchObject({
      code: 'invalid_token_reply',
      message: 'https://server.example/token sent no token.',
    });
  });
});
