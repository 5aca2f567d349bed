import { setTimeout as sleep } from 'node:timers/promises';
import type { Certificate } from '../network/certificate.ts';
import { type FaultProxy, SERVER_SOURCE_ADDRESS, startFaultProxy } from '../network/fault-proxy.ts';
import { freePort } from '../network/free-port.ts';
import { type RedisServer, startRedisServer } from './redis-server.ts';

/** Clients connect over TLS with these rights. Tests control servers without either. */
export interface TopologySecurity {
  /** Certificate for 127.0.0.1. The client trusts it through NODE_EXTRA_CA_CERTS. */
  readonly certificate: Certificate;
  /** Rights of the user, in the format of an ACL file. */
  readonly accessRule: string;
}

export interface RedisNode {
  readonly server: RedisServer;
  /** Address for clients, other servers and Sentinels. */
  readonly port: number;
  readonly proxy: FaultProxy | undefined;
}

export interface SentinelTopology {
  readonly storeUrl: string;
  readonly nodes: readonly RedisNode[];
  /** The current master, as reported by Sentinel. */
  master(): Promise<RedisNode>;
  /** Starts a failover by `SENTINEL FAILOVER`. */
  fail(): Promise<void>;
  /** Waits until there is a master with this many replicas in step. */
  settled(replicas?: number): Promise<RedisNode>;
  stop(): Promise<void>;
}

export const STORE_USER = 'gatehouse';
export const STORE_PASSWORD = 'the-store-of-a-test';
const MASTER_NAME = 'the-master';
const READY_DEADLINE_MILLISECONDS = 40_000;
const persistent = [
  ...['--appendonly', 'yes', '--repl-diskless-sync-delay', '0'],
  // The first ping changes the offsets from 0.
  ...['--repl-ping-replica-period', '1'],
];

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

  async function settled(inStep = replicas): Promise<RedisNode> {
    await until('The replicas do not follow the master.', async () => {
      const { server } = await master();
      const report = await server.command('INFO', 'replication');
      return /role:master/.test(report) && countInStep(report) === inStep;
    });
    return master();
  }

  await settled();
  await until('The Sentinels do not know the replicas and each other.', async () => {
    const reports = await Promise.all(
      sentinels.map(({ server }) => server.command('INFO', 'sentinel')),
    );
    return reports.every((report) =>
      report.includes(`status=ok,address=127.0.0.1:${first?.port},slaves=${replicas},sentinels=3`),
    );
  });
  const scheme = security === undefined ? 'redis+sentinel' : 'rediss+sentinel';
  return {
    storeUrl: `${scheme}://${credentials(security)}${hosts}/${MASTER_NAME}`,
    nodes,
    master,
    settled,
    async fail() {
      await until(
        'The Sentinels do not begin the failover.',
        async () =>
          (await sentinels[0]?.server.command('SENTINEL', 'FAILOVER', MASTER_NAME))?.startsWith(
            '+OK',
          ) === true,
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
      ...['--bind-source-addr', SERVER_SOURCE_ADDRESS, '--repl-timeout', '60'],
      ...['--replica-announce-ip', '127.0.0.1', '--replica-announce-port', String(proxy.port)],
      ...securityArguments(security, tlsPort),
      ...(masterPort === undefined ? [] : ['--replicaof', '127.0.0.1', String(masterPort)]),
    ],
  });
  proxy.lead(security === undefined ? server.port : tlsPort);
  return { server, port: proxy.port, proxy };
}

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
          ...['--cluster-enabled', 'yes', '--cluster-node-timeout', String(nodeTimeout)],
          ...['--cluster-announce-ip', '127.0.0.1', '--cluster-port', String(busPort)],
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
    await until('The cluster does not settle.', async () => {
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
        masters.every(({ replication }) => countInStep(replication) === 1)
      );
    });
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
      await until('A replica does not find its master.', async () =>
        (await node.server.command('CLUSTER', 'REPLICATE', identityOf(master))).startsWith('+OK'),
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

/** Replicas with a recent acknowledgment. Before the first one, the offset is 0. */
function countInStep(report: string): number {
  return [...report.matchAll(/state=online,offset=[1-9]\d*,lag=[01]\b/g)].length;
}

function credentials(security: TopologySecurity | undefined): string {
  return security === undefined ? '' : `${STORE_USER}:${STORE_PASSWORD}@`;
}

function securityArguments(
  security: TopologySecurity | undefined,
  tlsPort: number,
): readonly string[] {
  if (security === undefined) {
    return [];
  }
  return [
    ...tlsLines(security.certificate, tlsPort).flatMap((line) => `--${line}`.split(' ')),
    ...['--tls-cluster', 'yes'],
    ...['--user', STORE_USER, ...security.accessRule.split(' '), `>${STORE_PASSWORD}`],
  ];
}

function tlsLines({ certificateFile, keyFile }: Certificate, port: number): readonly string[] {
  return [
    `tls-port ${port}`,
    `tls-cert-file ${certificateFile}`,
    `tls-key-file ${keyFile}`,
    `tls-ca-cert-file ${certificateFile}`,
    'tls-auth-clients no',
    'tls-replication yes',
  ];
}

function body(reply: string): string {
  return reply.split('\r\n')[1] ?? '';
}

async function until(failure: string, condition: () => Promise<boolean>): Promise<void> {
  const deadline = Date.now() + READY_DEADLINE_MILLISECONDS;
  while (!(await condition().catch(() => false))) {
    if (Date.now() > deadline) {
      throw new Error(failure);
    }
    await sleep(50);
  }
}
