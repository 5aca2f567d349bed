import { basic, parseMetrics } from '@gatehouse/testing';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import {
  callGateway,
  createDevice,
  registerUsers,
  requestToken,
  sign,
  type Users,
} from './clients.ts';
import { type Call, startPacedLoad } from './paced-load.ts';
import { createTier, serviceOf, type Tier } from './tier.ts';
import { startVirtualUser } from './virtual-user.ts';

const REQUESTS_PER_SECOND = 200;
const VIRTUAL_USERS = 20;
/** Enough devices that concurrent changes rarely wait for each other. */
const DEVICES = 21;
const replicas = ['authorization-server', 'authorization-server-2', 'gateway', 'gateway-2'];

describe.each([
  { workers: 1, variables: {} },
  { workers: 2, variables: { WORKERS: '2' } },
])(
  'a rolling restart of two authorization servers and two gateways with $workers workers each',
  ({ workers, variables }) => {
    let tier: Tier;
    let users: Users;

    beforeAll(async () => {
      tier = await createTier({
        profiles: ['scale'],
        // All requests of this test come from one address.
        environment: {
          CLIENT_ENDPOINT_RATE_LIMIT: '1000000/60',
          PAGE_RATE_LIMIT: '1000000/60',
          ADDRESS_RATE_LIMIT: '1000000/60',
          ...variables,
        },
      });
      await tier.up();
      users = await registerUsers(tier);
      for (let i = 1; i <= DEVICES; i += 1) {
        await createDevice(tier, users.web, `pump-${i}`);
      }
    }, 180_000);
    afterAll(() => tier.remove());

    /**
     * Replaces one container after the other and waits for each, as docs/operations/upgrade.md
     * describes.
     */
    async function restartAllInTurn(): Promise<void> {
      for (const service of replicas) {
        const words = ['--detach', '--wait', '--no-deps', '--no-build', '--force-recreate'];
        await tier.compose('up', ...words, service);
      }
    }

    test('uses a core for each worker, and nginx and PostgreSQL may use as many', async () => {
      const containers = await tier.containers();
      const limitsOf = (service: string) => {
        const found = containers.find((container) => serviceOf(container) === service);
        return found?.HostConfig;
      };
      for (const service of [...replicas, 'device-service', 'nginx', 'postgres']) {
        expect(limitsOf(service)).toMatchObject({ NanoCpus: workers * 1e9 });
      }
      const script =
        "fetch('http://127.0.0.1:' + process.env.OPERATIONS_PORT + '/metrics').then((r) => r.text()).then((t) => process.stdout.write(t))";
      for (const service of [...replicas, 'device-service']) {
        const families = parseMetrics(await tier.node(service, script));
        expect(families.get('gatehouse_workers')?.samples).toMatchObject([{ value: workers }]);
      }
    });

    test('spreads requests over both instances of each app', async () => {
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

    test(`fails no request of ${REQUESTS_PER_SECOND} a second`, async () => {
      const { web } = users;
      const { body } = await requestToken(tier, web, { grant_type: 'client_credentials' });
      const query = 'pageIndex=0&pageSize=5';
      const bearer = { authorization: `Bearer ${body.access_token}` };
      const asWeb = { authorization: basic(web.clientId, web.secureKey) };
      const calls: readonly ((turn: number) => Call)[] = [
        () => ({ url: `${tier.gatewayUrl}/api/device`, headers: bearer }),
        (turn) => {
          const device = JSON.stringify({ name: `Pump ${turn}` });
          const signed = { ...sign(web, device), 'content-type': 'application/json' };
          return {
            url: `${tier.gatewayUrl}/api/v1/device/pump-${(turn % DEVICES) + 1}`,
            method: 'PATCH',
            headers: signed,
            body: device,
          };
        },
        () => ({ url: `${tier.gatewayUrl}/api/device?${query}`, headers: sign(web, query) }),
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
      const begun = performance.now();
      await restartAllInTurn();
      const seconds = Math.round((performance.now() - begun) / 1000);
      const { sent, outcomes } = await load.stop();
      process.stdout.write(
        `rolling restart, ${workers} workers: ${sent} requests in ${seconds} s, ${JSON.stringify(outcomes)}\n`,
      );
      expect(outcomes).toEqual({ 200: sent });
      expect(sent).toBeGreaterThan(seconds * REQUESTS_PER_SECOND * 0.9);
    }, 300_000);

    test(`loses no refresh token of ${VIRTUAL_USERS} users, and answers no 5xx`, async () => {
      // One at a time, because hashing passwords is slow by design, and the server returns 503 for
      // too many at once.
      let line: Promise<unknown> = Promise.resolve();
      const signIn = (work: () => Promise<string>) => {
        const turn = line.then(work);
        line = turn.catch(() => undefined);
        return turn;
      };
      const people = await Promise.all(
        Array.from({ length: VIRTUAL_USERS }, (_, i) => startVirtualUser(tier, users, i, signIn)),
      );
      await restartAllInTurn();
      const results = await Promise.all(people.map((person) => person.stop()));
      const rounds = results.reduce((sum, result) => sum + result.rounds, 0);
      process.stdout.write(
        `rolling restart, ${workers} workers: ${rounds} rounds of ${VIRTUAL_USERS} users\n`,
      );
      expect(results.flatMap(({ failures }) => failures)).toEqual([]);
      expect(Math.min(...results.map((result) => result.rounds))).toBeGreaterThan(1);
    }, 300_000);
  },
);
