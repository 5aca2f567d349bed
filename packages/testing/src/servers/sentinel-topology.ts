import { SERVER_SOURCE_ADDRESS, startFaultProxy } from '../network/fault-proxy.ts';
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
  tlsLines,
} from './redis-node.ts';
import { startRedisServer } from './redis-server.ts';

export interface SentinelTopology {
  readonly storeUrl: string;
  readonly nodes: readonly RedisNode[];
  /** The current master, as reported by Sentinel. */
  master(): Promise<RedisNode>;
  /** Starts a failover by `SENTINEL FAILOVER`. */
  fail(): Promise<void>;
  /** Waits until there is a master with this many replicas in sync. */
  settled(replicas?: number): Promise<RedisNode>;
  stop(): Promise<void>;
}

const MASTER_NAME = 'the-master';

/** One master and two replicas behind proxies, with three Sentinels. */
export async function startSentinelTopology(
  options: { readonly security?: TopologySecurity; readonly replicas?: number } = {},
): Promise<SentinelTopology> {
  const { security, replicas = 2 } = options;
  const nodes: RedisNode[] = [];
  for (let number = 0; number <= replicas; number += 1) {
    nodes.push(await startNode(security, nodes[0]?.port));
  }
  const [first] = nodes;
  const sentinels = await Promise.all(
    Array.from({ length: 3 }, async () => {
      const tlsPort = await freePort();
      return {
        port: tlsPort,
        server: await startRedisServer({
          sentinel: [
            ...(security === undefined ? [] : tlsLines(security.certificate, tlsPort)),
            `sentinel monitor ${MASTER_NAME} 127.0.0.1 ${first?.port} 2`,
            `sentinel down-after-milliseconds ${MASTER_NAME} 1000`,
            `sentinel failover-timeout ${MASTER_NAME} 6000`,
            `bind-source-addr ${SERVER_SOURCE_ADDRESS}`,
            'sentinel announce-ip 127.0.0.1',
          ],
        }),
      };
    }),
  );
  const ports = sentinels.map(({ port, server }) => (security === undefined ? server.port : port));
  const hosts = ports.map((port) => `127.0.0.1:${port}`).join(',');

  async function master(): Promise<RedisNode> {
    const reply = await sentinels[0]?.server.command(
      'SENTINEL',
      'get-master-addr-by-name',
      MASTER_NAME,
    );
    const node = nodes.find(({ port }) => reply?.includes(`\r\n${port}\r\n`));
    if (node === undefined) {
      throw new Error('The Sentinels report no known master.');
    }
    return node;
  }

  async function settled(inSync = replicas): Promise<RedisNode> {
    await until(async () => {
      const { server } = await master();
      const report = await server.command('INFO', 'replication');
      return /role:master/.test(report) && countInSync(report) === inSync;
    }, READY_DEADLINE_SECONDS);
    return master();
  }

  await settled();
  await until(async () => {
    const reports = await Promise.all(
      sentinels.map(({ server }) => server.command('INFO', 'sentinel')),
    );
    return reports.every((report) =>
      report.includes(`status=ok,address=127.0.0.1:${first?.port},slaves=${replicas},sentinels=3`),
    );
  }, READY_DEADLINE_SECONDS);
  const scheme = security === undefined ? 'redis+sentinel' : 'rediss+sentinel';
  return {
    storeUrl: `${scheme}://${credentials(security)}${hosts}/${MASTER_NAME}`,
    nodes,
    master,
    settled,
    async fail() {
      await until(
        async () =>
          (await sentinels[0]?.server.command('SENTINEL', 'FAILOVER', MASTER_NAME))?.startsWith(
            '+OK',
          ) === true,
        READY_DEADLINE_SECONDS,
      );
    },
    async stop() {
      await Promise.all(sentinels.map(({ server }) => server.stop()));
      await Promise.all(nodes.map((node) => node.server.stop()));
      await Promise.all(nodes.map((node) => node.proxy?.stop()));
    },
  };
}

async function startNode(
  security: TopologySecurity | undefined,
  masterPort: number | undefined,
): Promise<RedisNode> {
  const tlsPort = await freePort();
  const proxy = await startFaultProxy();
  const server = await startRedisServer({
    arguments: [
      ...persistent,
      '--bind-source-addr',
      SERVER_SOURCE_ADDRESS,
      '--repl-timeout',
      '60',
      '--replica-announce-ip',
      '127.0.0.1',
      '--replica-announce-port',
      String(proxy.port),
      ...securityArguments(security, tlsPort),
      ...(masterPort === undefined ? [] : ['--replicaof', '127.0.0.1', String(masterPort)]),
    ],
  });
  proxy.lead(security === undefined ? server.port : tlsPort);
  return { server, port: proxy.port, proxy };
}
