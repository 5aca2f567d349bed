import { setTimeout as sleep } from 'node:timers/promises';
import { authorizeAsUser } from '@gatehouse/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  callGateway,
  createDevice,
  redirectUri,
  registerUsers,
  requestToken,
  sign,
  type Users,
} from './clients.ts';
import { type Call, startPacedLoad } from './paced-load.ts';
import { createTier, serviceOf, type Tier } from './tier.ts';

const REQUESTS_PER_SECOND = Number(process.env.RPS ?? 200);
const VIRTUAL_USERS = 20;
const replicas = ['authorization-server', 'authorization-server-2', 'gateway', 'gateway-2'];

let tier: Tier;
let users: Users;

beforeAll(async () => {
  tier = await createTier({
    profiles: ['scale'],
    // All requests of this test come from one address.
    environment: { CLIENT_REQUESTS_PER_MINUTE: '1000000', ADDRESS_RATE_LIMIT: '1000000/60' },
  });
  await tier.up();
  users = await registerUsers(tier);
  await createDevice(tier, users.web, 'pump-1');
}, 180_000);
afterAll(async () => {
  if (process.env.KEEP) {
    console.log(await tier.compose('logs', 'nginx'));
  }
  await tier.remove();
}, 60000);
//XX(), 60_000);

/** Docker's restart, one container after the other, each waited for until it is healthy. */
async function restartAllInTurn(): Promise<void> {
  for (const service of replicas) {
    await tier.compose('restart', service);
    await becomesHealthy(service);
  }
}

async function becomesHealthy(service: string): Promise<void> {
  for (;;) {
    const container = (await tier.containers()).find((each) => serviceOf(each) === service);
    if (container?.State.Health?.Status === 'healthy') {
      return;
    }
    await sleep(250);
  }
}

describe('a rolling restart of two authorization servers and two gateways', () => {
  it('spreads requests over both of each kind', async () => {
    const { body } = await requestToken(tier, users.web, { grant_type: 'client_credentials' });
    for (let i = 0; i < 40; i += 1) {
      await callGateway(tier, '/api/device', {
        headers: { authorization: `Bearer ${body.access_token}` },
      });
      await requestToken(tier, users.web, { grant_type: 'client_credentials' });
    }
    for (const service of replicas) {
      const log = await tier.compose('logs', '--no-log-prefix', service);
      expect(log.match(/"operation":"(token|device\.list)"/g)?.length).toBeGreaterThan(5);
    }
  });

  it(`CF-02 fails no request of ${REQUESTS_PER_SECOND} a second`, async () => {
    const { web } = users;
    const { body } = await requestToken(tier, web, { grant_type: 'client_credentials' });
    const query = 'pageIndex=0&pageSize=5';
    const bearer = { authorization: `Bearer ${body.access_token}` };
    const basic = { authorization: `Basic ${btoa(`${web.clientId}:${web.secureKey}`)}` };
    const calls: readonly ((turn: number) => Call)[] = [
      () => ({ url: `${tier.gatewayUrl}/api/device`, headers: bearer }),
      (turn) => {
        const device = JSON.stringify({ configuration: { turn: String(turn) } });
        const signed = { ...sign(web, device), 'content-type': 'application/json' };
        return {
          url: `${tier.gatewayUrl}/api/v1/device/pump-1`,
          method: 'PATCH',
          headers: signed,
          body: device,
        };
      },
      () => ({ url: `${tier.gatewayUrl}/api/device?${query}`, headers: sign(web, query) }),
      () => ({
        url: `${tier.authorizationServerUrl}/token`,
        method: 'POST',
        headers: { ...basic, 'content-type': 'application/x-www-form-urlencoded' },
        body: 'grant_type=client_credentials',
      }),
    ];
    const load = startPacedLoad(REQUESTS_PER_SECOND, (turn) => {
      const call = calls[turn % calls.length];
      return call?.(turn) ?? { url: tier.gatewayUrl };
    });
    const begun = performance.now();
    await restartAllInTurn();
    const seconds = Math.round((performance.now() - begun) / 1000);
    const { sent, outcomes } = await load.stop();
    process.stdout.write(
      `rolling restart: ${sent} requests in ${seconds} s, ${JSON.stringify(outcomes)}\n`,
    );
    expect(outcomes).toEqual({ 200: sent });
    expect(sent).toBeGreaterThan(seconds * REQUESTS_PER_SECOND * 0.9);
  }, 300_000);
});
