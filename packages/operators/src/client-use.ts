/** How much a client is used, and in which ways: what operators look at before they change it. */
import { type Client, type Identity, type Practice, practices, REST } from '@gatehouse/identity';
import { findClient } from './clients.ts';
import type { Dependencies } from './operator.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const signatures = ['MD5', 'SHA-256', 'HMAC-SHA-256'] as const;

export function createClientUseActs({ identity, now }: Dependencies) {
  const { timeSeries, processes } = identity;

  /** A count can be too low: the time series names only the largest clients of each cell. */
  async function count(clientId: string, group: 'clients' | 'failingClients') {
    const range = { from: now() - DAY + HOUR, to: now() + 1, stepSeconds: 3600 };
    const read = await Promise.all(
      ['gateway', 'authorization-server'].map((app) => timeSeries.read({ app, ...range })),
    );
    const counts = read.map(({ total }) => total[group]);
    return {
      count: counts.reduce((sum, each) => sum + (each.get(clientId) ?? 0), 0),
      isExact: counts.every((each) => !each.has(REST)),
    };
  }

  /** The rate limit of the gateways, and the busiest minute of the last hour. */
  async function rateOf(clientId: string) {
    const gateway = (await processes.read()).find(({ app }) => app === 'gateway');
    const limit = gateway?.settings.find(({ name }) => name === 'CLIENT_RATE_LIMIT')?.value;
    const [requests, windowSeconds] = (limit ?? '').split('/').map(Number);
    if (requests === undefined || windowSeconds === undefined) {
      return undefined;
    }
    const range = { from: now() - HOUR, to: now() + 1, stepSeconds: 60 };
    const { points } = await timeSeries.read({ app: 'gateway', ...range });
    const counts = points.map((point) => point.counts.clients.get(clientId) ?? 0);
    return { requests, windowSeconds, busiestMinute: Math.max(0, ...counts) };
  }

  return {
    /** What happened in the last 24 hours. A refused request may only claim to be of the client. */
    async use(clientId: string) {
      const client = await findClient(clientId, identity);
      const [requests, refusals, rate, practices, byKey] = await Promise.all([
        count(clientId, 'clients'),
        count(clientId, 'failingClients'),
        rateOf(clientId),
        practicesOf(client, identity),
        signaturesOfKeys(client, identity),
      ]);
      return { requests, refusals, rate, practices, signaturesOfKeys: byKey };
    },
  };
}

/** What the client migrates from or to: whether its settings allow it, and when it was last seen. */
function practicesOf(client: Client, { lastUse, clients }: Identity) {
  const canSign = clients.describeKeys(client).length > 0;
  const allowed: Readonly<Record<Practice, boolean>> = {
    MD5: canSign && client.signatureAlgorithm === 'MD5',
    'SHA-256': canSign && client.signatureAlgorithm === 'SHA-256',
    'HMAC-SHA-256': canSign,
    query_token: true,
    implicit: client.grantTypes.includes('implicit'),
    password: client.grantTypes.includes('password'),
  };
  return Promise.all(
    practices.map(async (practice) => ({
      practice,
      isAllowed: allowed[practice],
      /** Epoch seconds. */
      lastAt: await lastUse.ofPractice(client.clientId, practice),
    })),
  );
}

/** By key id: the newest first. */
async function signaturesOfKeys(client: Client, { lastUse, clients }: Identity) {
  const found = clients.describeKeys(client).map(async ({ keyId }) => {
    const uses = signatures.map(async (practice) => ({
      practice,
      lastAt: await lastUse.ofPractice(client.clientId, practice, keyId),
    }));
    const seen = (await Promise.all(uses)).filter(({ lastAt }) => lastAt !== undefined);
    return [keyId, seen.sort((a, b) => (b.lastAt ?? 0) - (a.lastAt ?? 0))] as const;
  });
  return new Map(await Promise.all(found));
}
