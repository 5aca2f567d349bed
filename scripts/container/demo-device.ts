import { setTimeout as sleep } from 'node:timers/promises';
import type { Demo } from '@gatehouse/identity';

/** The addresses of the two public apps for another container. */
export const proxied = {
  authorizationServerUrl: 'http://nginx:9000',
  gatewayUrl: 'http://nginx:8844',
} as const;

const device = {
  id: 'demo-device-1',
  name: 'Demo device',
  productId: 'demo-product',
  productName: 'Demo product',
};

/** Servers may use an old copy of the clients for 50 ms (docs/decisions/16-revocation.md). */
const ATTEMPTS = 5;
const PAUSE_MILLISECONDS = 200;

/**
 * Creates the device as any client would, through the gateway. An existing device stays unchanged.
 */
export async function createDemoDevice(demo: Demo): Promise<void> {
  const authorization = `Bearer ${await requestToken(demo)}`;
  const reply = await fetch(`${proxied.gatewayUrl}/device-instance`, {
    method: 'POST',
    headers: { authorization, 'content-type': 'application/json' },
    body: JSON.stringify(device),
  });
  const { code } = (await reply.json()) as { code?: unknown };
  if (!reply.ok && code !== 'duplicate_key') {
    throw new Error(`the gateway answered ${reply.status} (${String(code)}).`);
  }
}

async function requestToken({ clientId, secureKey }: Demo): Promise<string> {
  for (let attempt = 1; ; attempt += 1) {
    const reply = await fetch(`${proxied.authorizationServerUrl}/token`, {
      method: 'POST',
      headers: { authorization: `Basic ${btoa(`${clientId}:${secureKey}`)}` },
      body: new URLSearchParams({ grant_type: 'client_credentials' }),
    });
    const { access_token: token, error } = (await reply.json()) as Record<string, unknown>;
    if (reply.ok && typeof token === 'string') {
      return token;
    }
    if (attempt === ATTEMPTS) {
      throw new Error(`the authorization server answered ${reply.status} (${String(error)}).`);
    }
    await sleep(PAUSE_MILLISECONDS);
  }
}
