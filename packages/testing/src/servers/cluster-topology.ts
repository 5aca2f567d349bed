import { freePort } from '../network/free-port.ts';
import { until } from '../until.ts';
import {
  countInSync,
  credentials,
  persistent,
  READY_DEADLINE_SECONDS,
  type RedisNode,
  securityArguments,
  type TopologySecurity,
} from './redis-node.ts';
import { startRedisServer } from './redis-server.ts';

export interface ClusterTopology {
  readonly storeUrl: string;
  readonly nodes: readonly RedisNode[];
  /** The node that currently reports the slot as its own. */
  masterOf(slot: number): Promise<RedisNode>;
  /** Replicas of the node. */
  replicasOf(node: RedisNode): Promise<readonly RedisNode[]>;
  /** Waits until every slot has a master that every replica follows. */
  settled(): Promise<void>;
  /** Moves slots, with their keys, from one master to another. */
  reshard(from: RedisNode, to: RedisNode, slots: readonly number[]): Promise<void>;
  stop(): Promise<void>;
}

/** Three masters, each with one replica. */
export async function startClusterTopology(
  options: { readonly security?: TopologySecurity; readonly nodeTimeout?: number } = {},
): Promise<ClusterTopology> {
  const { security, nodeTimeout = 1500 } = options;
  const busPorts = new Map<RedisNode, number>();
  const nodes = await Promise.all(
    Array.from({ length: 6 }, async (): Promise<RedisNode> => {
      const tlsPort = await freePort();
      const busPort = await freePort();
      const server = await startRedisServer({
        arguments: [
          ...persistent,
          '--cluster-enabled',
          'yes',
          '--cluster-node-timeout',
          String(nodeTimeout),
          '--cluster-announce-ip',
          '127.0.0.1',
          '--cluster-port',
          String(busPort),
          ...securityArguments(security, tlsPort),
        ],
      });
      const port = security === undefined ? server.port : tlsPort;
      const node: RedisNode = { server, port, proxy: undefined };
      busPorts.set(node, busPort);
      return node;
    }),
  );
  const identities = new Map<RedisNode, string>();
  for (const node of nodes) {
    identities.set(node, body(await node.server.command('CLUSTER', 'MYID')));
  }
  const identityOf = (node: RedisNode) => identities.get(node) ?? '';
  await join(nodes, (node) => busPorts.get(node) ?? 0, identityOf);

  async function settled(): Promise<void> {
    await until(async () => {
      const reports = await Promise.all(
        nodes.map(async ({ server }) => ({
          cluster: await server.command('CLUSTER', 'INFO'),
          replication: await server.command('INFO', 'replication'),
        })),
      );
      const masters = reports.filter(({ replication }) => /role:master/.test(replication));
      return (
        reports.every(({ cluster }) => /cluster_state:ok/.test(cluster)) &&
        masters.length === 3 &&
        masters.every(({ replication }) => countInSync(replication) === 1)
      );
    }, READY_DEADLINE_SECONDS);
  }

  async function masterOf(slot: number): Promise<RedisNode> {
    for (const node of nodes) {
      const table = await node.server.command('CLUSTER', 'NODES').catch(() => '');
      const own = /^.*myself.*$/m.exec(table)?.[0] ?? '';
      if (/master/.test(own) && hasSlot(own, slot)) {
        return node;
      }
    }
    throw new Error(`No node reports slot ${slot}.`);
  }

  async function reshard(from: RedisNode, to: RedisNode, slots: readonly number[]): Promise<void> {
    for (const slot of slots) {
      const text = String(slot);
      await to.server.command('CLUSTER', 'SETSLOT', text, 'IMPORTING', identityOf(from));
      await from.server.command('CLUSTER', 'SETSLOT', text, 'MIGRATING', identityOf(to));
    }
    for (const slot of slots) {
      await moveKeys(from, to, slot);
    }
    for (const slot of slots) {
      for (const node of [to, from, ...nodes]) {
        // Replicas reject the command and learn the change from their masters.
        await node.server.command('CLUSTER', 'SETSLOT', String(slot), 'NODE', identityOf(to));
      }
    }
  }

  await settled();
  const scheme = security === undefined ? 'redis+cluster' : 'rediss+cluster';
  const hosts = nodes.map(({ port }) => `127.0.0.1:${port}`).join(',');
  return {
    storeUrl: `${scheme}://${credentials(security)}${hosts}`,
    nodes,
    masterOf,
    async replicasOf(node) {
      const report = await node.server.command('CLUSTER', 'REPLICAS', identityOf(node));
      return nodes.filter((other) => report.includes(identityOf(other)) && other !== node);
    },
    settled,
    reshard,
    async stop() {
      await Promise.all(nodes.map(({ server }) => server.stop()));
    },
  };
}

async function join(
  nodes: readonly RedisNode[],
  busPortOf: (node: RedisNode) => number,
  identityOf: (node: RedisNode) => string,
): Promise<void> {
  const [first, ...others] = nodes;
  for (const [number, { server }] of nodes.entries()) {
    if (number < 3) {
      const start = Math.ceil((16_384 / 3) * number);
      const end = Math.ceil((16_384 / 3) * (number + 1)) - 1;
      await server.command('CLUSTER', 'ADDSLOTSRANGE', String(start), String(end));
    }
    await server.command('CLUSTER', 'SET-CONFIG-EPOCH', String(number + 1));
  }
  for (const node of others) {
    const ports = [node.port, busPortOf(node)].map(String);
    await first?.server.command('CLUSTER', 'MEET', '127.0.0.1', ...ports);
  }
  for (const [number, node] of nodes.entries()) {
    const master = nodes[number % 3];
    if (number >= 3 && master !== undefined) {
      await until(
        async () =>
          (await node.server.command('CLUSTER', 'REPLICATE', identityOf(master))).startsWith('+OK'),
        READY_DEADLINE_SECONDS,
      );
    }
  }
}

async function moveKeys(from: RedisNode, to: RedisNode, slot: number): Promise<void> {
  for (;;) {
    const reply = await from.server.command('CLUSTER', 'GETKEYSINSLOT', String(slot), '1');
    const key = /^\*1\r\n\$\d+\r\n(.*)\r\n$/.exec(reply)?.[1];
    if (key === undefined) {
      return;
    }
    await from.server.command('MIGRATE', '127.0.0.1', String(to.port), key, '0', '2000');
  }
}

function hasSlot(line: string, slot: number): boolean {
  return [...line.matchAll(/ (\d+)(?:-(\d+))?(?= |$)/g)].some(
    ([, start, end]) => Number(start) <= slot && slot <= Number(end ?? start),
  );
}

function body(reply: string): string {
  return reply.split('\r\n')[1] ?? '';
}
