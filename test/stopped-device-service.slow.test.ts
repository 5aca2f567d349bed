// runs alone: it has deadlines of seconds under load
import {
  basic,
  type Constellation,
  parseMetrics,
  startConstellation,
  until,
} from '@gatehouse/testing';
import { afterAll, beforeAll, expect, test } from '@jest/globals';

const client = { clientId: 'client-1', secureKey: 'k3yForTheStoppedService' };
/** The time limit of every route. */
const DEADLINE_MILLISECONDS = 15_000;

let system: Constellation;
let authorization: string;

beforeAll(async () => {
  system = await startConstellation({
    engine: 'sqlite',
    bootstrap: {
      organizations: [{ id: 'org-1', name: 'One' }],
      clients: [
        { ...client, name: 'One', orgId: 'org-1', scopes: ['device:read', 'device:write'] },
      ],
    },
  });
  const reply = await fetch(`${system.authorizationServerUrl}/token`, {
    method: 'POST',
    headers: { authorization: basic(client.clientId, client.secureKey) },
    body: new URLSearchParams({ grant_type: 'client_credentials' }),
  });
  authorization = `Bearer ${((await reply.json()) as { access_token: string }).access_token}`;
});
afterAll(async () => {
  signal('SIGCONT');
  await system.stop();
});

function member(app: string) {
  const found = system.members.find((each) => each.app === app);
  if (found === undefined) {
    throw new Error(`There is no ${app}.`);
  }
  return found;
}

const signal = (name: NodeJS.Signals) => process.kill(member('device-service').process.pid, name);

async function list() {
  const started = performance.now();
  const reply = await fetch(`${system.gatewayUrl}/api/device`, { headers: { authorization } });
  await reply.arrayBuffer();
  return { status: reply.status, headers: reply.headers, took: performance.now() - started };
}

async function circuit() {
  const text = await (await fetch(`${member('gateway').operationsUrl}/metrics`)).text();
  return parseMetrics(text).get('gatehouse_upstream_circuit_open')?.samples[0]?.value;
}

test('the gateway notices a stopped device service within seconds, and recovers without a restart', async () => {
  expect((await list()).status).toBe(200);
  expect(await circuit()).toBe(0);

  signal('SIGSTOP');
  const first = await list();
  expect(first.status).toBe(504);
  // 4.5 s on an idle machine.
  expect(first.took).toBeLessThan(DEADLINE_MILLISECONDS / 2);
  expect(await circuit()).toBe(1);
  const refused = await Promise.all(Array.from({ length: 20 }, list));
  expect(refused.map(({ status }) => status)).toEqual(Array(20).fill(503));
  expect(refused.map(({ headers }) => headers.get('retry-after'))).toEqual(Array(20).fill('1'));
  expect(Math.max(...refused.map(({ took }) => took))).toBeLessThan(DEADLINE_MILLISECONDS / 5);

  signal('SIGCONT');
  await until(async () => (await list()).status === 200);
  expect(await circuit()).toBe(0);
  const output = await system.outputWith('upstream circuit closed');
  const changes = output.match(/upstream circuit \w+/g);
  expect(changes).toEqual(['upstream circuit open', 'upstream circuit closed']);
});
