// requires: redis-server
// runs alone: it has deadlines of seconds under load
/** The whole system with two workers for each app, on both store engines. */
import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import {
  type Member,
  machineToken,
  oneClient,
  parseMetrics,
  postAs,
  signatureHeaders,
} from '@gatehouse/testing';
import { startOnEachEngine } from '@gatehouse/testing/suite';
import { describe, expect, test } from '@jest/globals';

const secureKey = 'workersKey0123456789abcdef';
const bootstrap = oneClient(secureKey, { scopes: ['device:read', 'device:write'] });
/** The promise of docs/operations/secrets.md. */
const REVOKED_WITHIN_MILLISECONDS = 1000;

interface Reply {
  readonly status: number;
  readonly text: string;
}

type Call = (
  url: string,
  options?: { method?: string; headers?: Record<string, string>; body?: string },
) => Promise<Reply>;

/** Calls over one connection, which stays open. */
function oneConnection(): Call {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  return (url, { body, ...options } = {}) =>
    new Promise((resolve, reject) => {
      const sending = request(url, { ...options, agent });
      sending.on('error', reject).on('response', async (reply) => {
        const text = Buffer.concat(await reply.toArray()).toString();
        resolve({ status: reply.statusCode ?? 0, text });
      });
      sending.end(body);
    });
}

function workersOf({ process: { pid } }: Member): readonly number[] {
  const text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8');
  return text.split(' ').filter(Boolean).map(Number);
}

// All of them prepare one new store at the same time.
const systems = await startOnEachEngine({
  bootstrap,
  environment: { WORKERS: '2', LOG_LEVEL: 'info', ADDRESS_RATE_LIMIT: '1000000/60' },
});

describe.each(systems)('two workers for each app, over $engine', ({ system }) => {
  const listDevices = (use: Call, token: string) =>
    use(`${system.gatewayUrl}/api/device`, { headers: { authorization: `Bearer ${token}` } });

  /** One connection to each worker of the gateway: the other one is stopped while it opens. */
  async function connectionToEachWorker(): Promise<readonly Call[]> {
    const workers = workersOf(system.member('gateway'));
    const connections: Call[] = [];
    for (const other of workers) {
      process.kill(other, 'SIGSTOP');
      const use = oneConnection();
      await listDevices(use, 'none');
      connections.push(use);
      process.kill(other, 'SIGCONT');
    }
    return connections;
  }

  async function sampleOf(member: Member, name: string): Promise<number> {
    const families = parseMetrics(await (await fetch(`${member.operationsUrl}/metrics`)).text());
    return (families.get(name)?.samples ?? []).reduce((sum, { value }) => sum + value, 0);
  }

  test('start on a new store, and count as one app', async () => {
    for (const member of system.members) {
      const ready = await (await fetch(`${member.operationsUrl}/ready`)).json();
      expect(ready).toMatchObject({ status: 'ready', checks: { workers: '2 of 2' } });
      expect(workersOf(member).length).toBe(2);
      expect(await sampleOf(member, 'gatehouse_workers')).toBe(2);
    }
    const output = await system.output();
    expect(output.split('"msg":"listening"').length - 1).toBe(3);
  });

  test('reject a revoked token within a second, each of them', async () => {
    const token = await machineToken(system, secureKey);
    const connections = await connectionToEachWorker();
    for (const use of connections) {
      expect((await listDevices(use, token)).status).toBe(200);
    }
    const url = `${system.authorizationServerUrl}/revoke`;
    expect((await postAs(url, { clientId: 'one', secureKey }, { token })).status).toBe(200);
    const acknowledged = performance.now();
    const durations = connections.map(async (use) => {
      while ((await listDevices(use, token)).status === 200);
      return performance.now() - acknowledged;
    });
    for (const duration of await Promise.all(durations)) {
      expect(duration).toBeLessThan(REVOKED_WITHIN_MILLISECONDS);
    }
  });

  test('accept a signed request once, whichever of them it reaches', async () => {
    const connections = await connectionToEachWorker();
    const body = JSON.stringify({ id: 'd', name: 'd', productId: 'p', productName: 'P' });
    const signature = signatureHeaders({ clientId: 'one', secureKey }, body);
    const headers = { 'content-type': 'application/json', ...signature };
    const url = `${system.gatewayUrl}/device-instance`;
    const replies = await Promise.all(
      connections.map((use) => use(url, { method: 'POST', headers, body })),
    );
    expect(replies.map(({ status }) => status).sort()).toEqual([200, 401]);
  });
});
