/**
 * A rolling restart behind nginx, under load. test/rolling-restart.slow.test.ts checks the users of
 * processes: their refresh tokens, sign-ins and devices.
 */
import { basic, parseMetrics, until } from '@gatehouse/testing';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createDevice, registerUsers, requestToken, sign, type Users } from './clients.ts';
import { type Call, startPacedLoad } from './paced-load.ts';
import { createTier, type Tier } from './tier.ts';

const REQUESTS_PER_SECOND = 200;
/** Enough devices that concurrent changes rarely wait for each other. */
const DEVICES = 21;
const replicas = ['authorization-server', 'authorization-server-2', 'gateway', 'gateway-2'];

describe.each([
  { workers: 1, variables: {} },
  { workers: 2, variables: { WORKERS: '2' } },
])(
  'two authorization servers and two gateways with $workers workers each',
  ({ workers, variables }) => {
    let tier: Tier;
    let users: Users;

    beforeAll(async () => {
      // All requests of this test come from one address.
      const limit = '1000000/60';
      const limits = { CLIENT_ENDPOINT_RATE_LIMIT: limit, ADDRESS_RATE_LIMIT: limit };
      tier = await createTier({ profiles: ['scale'], environment: { ...limits, ...variables } });
      await tier.up();
      users = await registerUsers(tier);
      for (let i = 1; i <= DEVICES; i += 1) {
        await createDevice(tier, users.web, `pump-${i}`);
      }
    }, 180_000);
    afterAll(() => tier.remove());

    test('use a core for each worker, and nginx and PostgreSQL may use as many', async () => {
      for (const service of [...replicas, 'device-service', 'nginx', 'postgres']) {
        const { HostConfig } = await tier.container(service);
        expect(HostConfig).toMatchObject({ NanoCpus: workers * 1e9 });
      }
      const script =
        "fetch('http://127.0.0.1:' + process.env.OPERATIONS_PORT + '/metrics').then((r) => r.text()).then((t) => process.stdout.write(t))";
      for (const service of [...replicas, 'device-service']) {
        const families = parseMetrics(await tier.node(service, script));
        expect(families.get('gatehouse_workers')?.samples).toMatchObject([{ value: workers }]);
      }
    });

    test('share the requests, and a rolling restart fails none of them', async () => {
      const { web } = users;
      const { body } = await requestToken(tier, web, { grant_type: 'client_credentials' });
      const query = 'pageIndex=0&pageSize=5';
      const bearer = { authorization: `Bearer ${body.access_token}` };
      const asWeb = { authorization: basic(web.clientId, web.secureKey) };
      const list = `${tier.gatewayUrl}/api/device`;
      const calls: readonly ((turn: number) => Call)[] = [
        () => ({ url: list, headers: bearer }),
        () => ({ url: `${list}?${query}`, headers: sign(web, query) }),
        (turn) => {
          const device = JSON.stringify({ name: `Pump ${turn}` });
          return {
            url: `${tier.gatewayUrl}/api/v1/device/pump-${(turn % DEVICES) + 1}`,
            method: 'PATCH',
            headers: { ...sign(web, device), 'content-type': 'application/json' },
            body: device,
          };
        },
        () => ({
          url: `${tier.authorizationServerUrl}/token`,
          method: 'POST',
          headers: { ...asWeb, 'content-type': 'application/x-www-form-urlencoded' },
          body: 'grant_type=client_credentials',
        }),
      ];
      const load = startPacedLoad(REQUESTS_PER_SECOND, (turn) => {
        const call = calls[turn % calls.length];
        return call?.(turn) ?? { url: tier.gatewayUrl };
      });
      // Replaces one container after the other, as docs/operations/upgrade.md describes.
      for (const service of replicas) {
        const words = ['--detach', '--wait', '--no-deps', '--no-build', '--force-recreate'];
        await tier.compose('up', ...words, service);
      }
      for (const service of replicas) {
        await until(async () => {
          const log = await tier.compose('logs', '--no-log-prefix', service);
          return (log.match(/"operation":"(token|device\.list)"/g)?.length ?? 0) > 5;
        }, 60);
      }
      const { sent, outcomes } = await load.stop();
      process.stdout.write(`rolling restart, ${workers} workers: ${JSON.stringify(outcomes)}\n`);
      expect(outcomes).toEqual({ 200: sent });
    }, 300_000);
  },
);
