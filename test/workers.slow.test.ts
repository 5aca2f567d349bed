// requires: redis-server
// runs alone: it has deadlines of seconds under load
/** The whole system with two workers for each app, on both store engines. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import {
  type Constellation,
  integrationEngines,
  type Member,
  parseMetrics,
  startConstellation,
} from '@gatehouse/testing';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { oneClient } from './one-client.ts';

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

/** Calls over one connection that stays open, or over a new connection for each call. */
function caller(agent: Agent | false): Call {
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

const oneConnection = () => caller(new Agent({ keepAlive: true, maxSockets: 1 }));
const call = caller(false);

function workersOf({ process: { pid } }: Member): readonly number[] {
  const text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8');
  return text.split(' ').filter(Boolean).map(Number);
}

describe.each(integrationEngines)('two workers for each app, over %s', (engine) => {
  let system: Constellation;

  beforeAll(async () => {
    // All of them prepare one new store at the same time.
    system = await startConstellation({
      engine,
      bootstrap,
      environment: { WORKERS: '2', LOG_LEVEL: 'info', ADDRESS_RATE_LIMIT: '1000000/60' },
    });
  });
  afterAll(() => system.stop());

  const memberOf = (app: Member['app']) => {
    const found = system.members.find((member) => member.app === app);
    if (found === undefined) {
      throw new Error(`No ${app} runs.`);
    }
    return found;
  };

  const authorization = `Basic ${btoa(`one:${secureKey}`)}`;
  const form = { authorization, 'content-type': 'application/x-www-form-urlencoded' };

  async function issueToken(): Promise<string> {
    const body = 'grant_type=client_credentials';
    const url = `${system.authorizationServerUrl}/token`;
    const { text } = await call(url, { method: 'POST', headers: form, body });
    return JSON.parse(text).access_token;
  }

  const listDevices = (use: Call, token: string) =>
    use(`${system.gatewayUrl}/api/device`, { headers: { authorization: `Bearer ${token}` } });

  /** One connection to each worker of the gateway: the other one is stopped while it opens. */
  async function connectionToEachWorker(): Promise<readonly Call[]> {
    const workers = workersOf(memberOf('gateway'));
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
    const families = parseMetrics((await call(`${member.operationsUrl}/metrics`)).text);
    return (families.get(name)?.samples ?? []).reduce((sum, { value }) => sum + value, 0);
  }

  test('start on a new store, and count as one app', async () => {
    for (const member of system.members) {
      const { status, text } = await call(`${member.operationsUrl}/ready`);
      expect({ status, ...JSON.parse(text) }).toMatchObject({
        status: 'ready',
        checks: { workers: '2 of 2' },
      });
      expect(workersOf(member).length).toBe(2);
      expect(await sampleOf(member, 'gatehouse_workers')).toBe(2);
    }
    const output = await system.output();
    expect(output.split('"msg":"listening"').length - 1).toBe(3);
  });

  test('reject a revoked token within a second, each of them', async () => {
    const token = await issueToken();
    const connections = await connectionToEachWorker();
    for (const use of connections) {
      expect((await listDevices(use, token)).status).toBe(200);
    }
    const body = `token=${token}`;
    const url = `${system.authorizationServerUrl}/revoke`;
    expect((await call(url, { method: 'POST', headers: form, body })).status).toBe(200);
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
    const timestamp = Date.now();
    const sign = createHash('sha256').update(`${body}${timestamp}${secureKey}`).digest('hex');
    const headers = {
      'content-type': 'application/json',
      'x-client-id': 'one',
      'x-timestamp': String(timestamp),
      'x-sign': sign,
    };
    const url = `${system.gatewayUrl}/device-instance`;
    const replies = await Promise.all(
      connections.map((use) => use(url, { method: 'POST', headers, body })),
    );
    expect(replies.map(({ status }) => status).sort()).toEqual([200, 401]);
  });
});
