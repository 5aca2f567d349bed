// requires: redis-server

import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, test } from '@jest/globals';
import Provider, { type ClientMetadata } from 'oidc-provider';
import { createRedemptions } from '../src/provider/single-use.ts';
import { openSuiteStores } from './suite-stores.ts';

/** The library knows the current request only at an endpoint. */
const client: ClientMetadata = {
  client_id: 'app',
  grant_types: ['redeem'],
  response_types: [],
  redirect_uris: [],
  token_endpoint_auth_method: 'none',
};

const stores = await openSuiteStores();

describe.each(stores)('the redemption of a code on $engine', ({ system: { store } }) => {
  const newCode = () => {
    const id = randomBytes(8).toString('hex');
    return { id, key: `record:${id}` };
  };

  /** Redeems the code in a request. Returns whether the request won, and whether it was marked. */
  async function redeem(code: ReturnType<typeof newCode>) {
    const redemptions = createRedemptions(store);
    const provider = new Provider('http://localhost', { clients: [client] });
    provider.registerGrantType('redeem', async (context) => {
      const isWon = await redemptions.claim(code, 60);
      await redemptions.complete(context.req);
      const isMarked = (await store.get(`redeemed:${code.key}`)) !== undefined;
      context.body = { isWon, isMarked };
    });
    const server = createServer(provider.callback()).listen(0, '127.0.0.1');
    await once(server, 'listening');
    try {
      const { port } = server.address() as AddressInfo;
      const body = new URLSearchParams({ grant_type: 'redeem', client_id: client.client_id });
      const reply = await fetch(`http://127.0.0.1:${port}/token`, { method: 'POST', body });
      return await reply.json();
    } finally {
      server.closeAllConnections();
      server.close();
    }
  }

  test('is marked when the reply of the request that won is ready', async () => {
    expect(await redeem(newCode())).toEqual({ isWon: true, isMarked: true });
  });

  test('is not marked by a request that lost', async () => {
    const code = newCode();
    // Outside a request there is no reply, so nothing is marked.
    expect(await createRedemptions(store).claim(code, 60)).toBe(true);
    expect(await redeem(code)).toEqual({ isWon: false, isMarked: false });
  });
});
