import { setTimeout as sleep } from 'node:timers/promises';
import { type RedisServer, startRedisServer } from '@gatehouse/testing';

const CLUSTER_DEADLINE_MILLISECONDS = 15_000;

export interface ClusterNodes {
  readonly url: string;
  readonly nodes: readonly RedisServer[];
  stop(): Promise<void>;
}

/** Three masters without replicas. Each has a third of the slots. */
export async function startClusterNodes(): Promise<ClusterNodes> {
  const nodes = await Promise.all(
    Array.from({ length: 3 }, () =>
      startRedisServer({
        arguments: ['--cluster-enabled', 'yes', '--cluster-node-timeout', '1500'],
      }),
    ),
  );
  await joinCluster(nodes);
  return {
    url: `redis+cluster://${nodes.map(({ port }) => `127.0.0.1:${port}`).join(',')}`,
    nodes,
    stop: async () => {
      await Promise.all(nodes.map((node) => node.stop()));
    },
  };
}

async function joinCluster(nodes: readonly RedisServer[]): Promise<void> {
  const [first, ...others] = nodes;
  const share = Math.ceil(16_384 / nodes.length);
  for (const [number, node] of nodes.entries()) {
    const last = Math.min((number + 1) * share, 16_384) - 1;
    await node.command('CLUSTER', 'ADDSLOTSRANGE', String(number * share), String(last));
    await node.command('CLUSTER', 'SET-CONFIG-EPOCH', String(number + 1));
  }
  for (const node of others) {
    await first?.command('CLUSTER', 'MEET', '127.0.0.1', String(node.port));
  }
  const deadline = Date.now() + CLUSTER_DEADLINE_MILLISECONDS;
  for (const node of nodes) {
    for (;;) {
      const information = await node.command('CLUSTER', 'INFO');
      if (/cluster_state:ok/.test(information) && information.includes('known_nodes:3')) {
        break;
      }
      if (Date.now() > deadline) {
        throw new Error('The cluster does not form.');
      }
      await sleep(50);
    }
  }
}
