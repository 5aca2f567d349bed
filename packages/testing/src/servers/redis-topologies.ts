import { SERVER_SOURCE_ADDRESS, startFaultProxy } from '../network/fault-proxy.ts';
import { freePort } from '../network/free-port.ts';
import type { Certificate } from '../network/tls.ts';
import { until } from '../until.ts';
import { type RedisServer, startRedisServer } from './redis-server.ts';

/** Clients connect over TLS with these rights. Tests control servers without either. */
export interface TopologySecurity {
  /** Certificate for 127.0.0.1. The client trusts it through NODE_EXTRA_CA_CERTS. */
  readonly certificate: Certificate;
  /** Rights of the user, in the format of an ACL file. */
  readonly accessRule: string;
}

interface Node {
  readonly server: RedisServer;
  /** Address for clients and other servers. */
  readonly port: number;
}

const LOGIN = 'gatehouse:the-store-of-a-test';
const MASTER_NAME = 'the-master';
const SLOTS = 16_384;
/** How long servers may take until they agree. */
const READY_SECONDS = 40;
const words = (line: string) => line.split(' ');
// The first ping changes the offsets from 0.
const persistent = words(
  '--appendonly yes --repl-diskless-sync-delay 0 --repl-ping-replica-period 1',
);

/** Replicas with a recent acknowledgment. Before the first one, the offset is 0. */
const countInSync = (report: string) =>
  [...report.matchAll(/state=online,offset=[1-9]\d*,lag=[01]\b/g)].length;

function urlOf(kind: string, security: TopologySecurity | undefined, ports: readonly number[]) {
  const hosts = ports.map((port) => `127.0.0.1:${port}`).join();
  return security === undefined ? `redis+${kind}://${hosts}` : `rediss+${kind}://${LOGIN}@${hosts}`;
}

function tlsLines({ certificate }: TopologySecurity, port: number): readonly string[] {
  const { certificateFile, keyFile } = certificate;
  return [
    `tls-port ${port}`,
    `tls-cert-file ${certificateFile}`,
    `tls-key-file ${keyFile}`,
    `tls-ca-cert-file ${certificateFile}`,
    'tls-auth-clients no',
    'tls-replication yes',
  ];
}

function securityArguments(security: TopologySecurity | undefined, tlsPort: number) {
  if (security === undefined) {
    return [];
  }
  const [user, password] = LOGIN.split(':');
  return [
    ...tlsLines(security, tlsPort).flatMap((line) => words(`--${line}`)),
    ...words(`--tls-cluster yes --user ${user} ${security.accessRule} >${password}`),
  ];
}

export type SentinelTopology = Awaited<ReturnType<typeof startSentinelTopology>>;

/** One master and two replicas behind proxies that can break, with three Sentinels. */
export async function startSentinelTopology({ security }: { security?: TopologySecurity } = {}) {
  const nodes: Awaited<ReturnType<typeof startReplica>>[] = [];
  for (let number = 0; number < 3; number += 1) {
    nodes.push(await startReplica(security, nodes[0]?.port));
  }
  const first = nodes[0]?.port;
  const sentinels = await Promise.all(
    nodes.map(async () => {
      const tlsPort = await freePort();
      const server = await startRedisServer({
        sentinel: [
          ...(security === undefined ? [] : tlsLines(security, tlsPort)),
          `sentinel monitor ${MASTER_NAME} 127.0.0.1 ${first} 2`,
          `sentinel down-after-milliseconds ${MASTER_NAME} 1000`,
          `sentinel failover-timeout ${MASTER_NAME} 6000`,
          `bind-source-addr ${SERVER_SOURCE_ADDRESS}`,
          'sentinel announce-ip 127.0.0.1',
        ],
      });
      return { server, port: security === undefined ? server.port : tlsPort };
    }),
  );
  const ask = async (...command: readonly string[]) =>
    (await sentinels[0]?.server.command('SENTINEL', ...command)) ?? '';

  /** The current master, as reported by Sentinel. */
  async function master() {
    const reply = await ask('get-master-addr-by-name', MASTER_NAME);
    const node = nodes.find(({ port }) => reply.includes(`\r\n${port}\r\n`));
    if (node === undefined) {
      throw new Error('The Sentinels report no known master.');
    }
    return node;
  }

  /** Waits until there is a master with two replicas in sync. */
  async function settled() {
    await until(async () => {
      const report = await (await master()).server.command('INFO', 'replication');
      return /role:master/.test(report) && countInSync(report) === 2;
    }, READY_SECONDS);
    return master();
  }

  await settled();
  await until(async () => {
    const reports = await Promise.all(
      sentinels.map(({ server }) => server.command('INFO', 'sentinel')),
    );
    const known = `status=ok,address=127.0.0.1:${first},slaves=2,sentinels=3`;
    return reports.every((report) => report.includes(known));
  }, READY_SECONDS);
  const ports = sentinels.map(({ port }) => port);
  return {
    storeUrl: `${urlOf('sentinel', security, ports)}/${MASTER_NAME}`,
    nodes,
    master,
    settled,
    /** Starts a failover by `SENTINEL FAILOVER`. */
    fail: () =>
      until(async () => (await ask('FAILOVER', MASTER_NAME)).startsWith('+OK'), READY_SECONDS),
    async stop() {
      await Promise.all([...sentinels, ...nodes].map(({ server }) => server.stop()));
      await Promise.all(nodes.map(({ proxy }) => proxy.stop()));
    },
  };
}

async function startReplica(security: TopologySecurity | undefined, masterPort?: number) {
  const tlsPort = await freePort();
  const proxy = await startFaultProxy();
  const server = await startRedisServer({
    arguments: [
      ...persistent,
      ...words(`--bind-source-addr ${SERVER_SOURCE_ADDRESS} --repl-timeout 60`),
      ...words(`--replica-announce-ip 127.0.0.1 --replica-announce-port ${proxy.port}`),
      ...securityArguments(security, tlsPort),
      ...(masterPort === undefined ? [] : words(`--replicaof 127.0.0.1 ${masterPort}`)),
    ],
  });
  proxy.lead(security === undefined ? server.port : tlsPort);
  return { server, port: proxy.port, proxy };
}

export type ClusterTopology = Awaited<ReturnType<typeof startClusterTopology>>;

/** Three masters, each with one replica unless there are none. */
export async function startClusterTopology(
  options: { readonly security?: TopologySecurity; readonly replicas?: 0 | 3 } = {},
) {
  const { security, replicas = 3 } = options;
  const nodes = await Promise.all(
    Array.from({ length: 3 + replicas }, async () => {
      const [tlsPort, busPort] = [await freePort(), await freePort()];
      const server = await startRedisServer({
        arguments: [
          ...persistent,
          ...words('--cluster-enabled yes --cluster-node-timeout 1500'),
          ...words(`--cluster-announce-ip 127.0.0.1 --cluster-port ${busPort}`),
          ...securityArguments(security, tlsPort),
        ],
      });
      const id = bulk(await server.command('CLUSTER', 'MYID'));
      return { server, busPort, id, port: security === undefined ? server.port : tlsPort };
    }),
  );
  type ClusterNode = (typeof nodes)[number];

  async function join(): Promise<void> {
    const share = SLOTS / 3;
    for (const [number, { server, port, busPort }] of nodes.entries()) {
      if (number < 3) {
        const range = [Math.ceil(share * number), Math.ceil(share * (number + 1)) - 1].map(String);
        await server.command('CLUSTER', 'ADDSLOTSRANGE', ...range);
      }
      await server.command('CLUSTER', 'SET-CONFIG-EPOCH', String(number + 1));
      if (number > 0) {
        const address = ['127.0.0.1', String(port), String(busPort)];
        await nodes[0]?.server.command('CLUSTER', 'MEET', ...address);
      }
    }
    for (const [number, { server }] of nodes.slice(3).entries()) {
      const follow = () => server.command('CLUSTER', 'REPLICATE', nodes[number]?.id ?? '');
      await until(async () => (await follow()).startsWith('+OK'), READY_SECONDS);
    }
  }

  /** Waits until every slot has a master that every replica follows. */
  async function settled(): Promise<void> {
    await until(async () => {
      const reports = await Promise.all(
        nodes.map(({ server }) =>
          Promise.all([server.command('CLUSTER', 'INFO'), server.command('INFO', 'replication')]),
        ),
      );
      const masters = reports.filter(([, replication]) => /role:master/.test(replication));
      const known = new RegExp(`cluster_state:ok[^]*known_nodes:${nodes.length}`);
      return (
        reports.every(([cluster]) => known.test(cluster)) &&
        masters.length === 3 &&
        masters.every(([, replication]) => countInSync(replication) === replicas / 3)
      );
    }, READY_SECONDS);
  }

  /** The node that currently reports the slot as its own. */
  async function masterOf(slot: number): Promise<ClusterNode> {
    for (const node of nodes) {
      const table = await node.server.command('CLUSTER', 'NODES').catch(() => '');
      const own = /^.*myself,master.*$/m.exec(table)?.[0] ?? '';
      const ranges = [...own.matchAll(/ (\d+)(?:-(\d+))?(?= |$)/g)];
      if (ranges.some(([, start, end = start]) => Number(start) <= slot && slot <= Number(end))) {
        return node;
      }
    }
    throw new Error(`No node reports slot ${slot}.`);
  }

  /** Moves the slots, with their keys, from one master to another. */
  async function reshard(from: ClusterNode, to: ClusterNode, slots: readonly number[]) {
    for (const slot of slots.map(String)) {
      await to.server.command('CLUSTER', 'SETSLOT', slot, 'IMPORTING', from.id);
      await from.server.command('CLUSTER', 'SETSLOT', slot, 'MIGRATING', to.id);
    }
    for (const slot of slots) {
      await moveKeys(from, to, String(slot));
    }
    for (const slot of slots.map(String)) {
      // Replicas reject the command and learn the change from their masters.
      for (const node of [to, from, ...nodes]) {
        await node.server.command('CLUSTER', 'SETSLOT', slot, 'NODE', to.id);
      }
    }
  }

  await join();
  await settled();
  return {
    storeUrl: urlOf(
      'cluster',
      security,
      nodes.map(({ port }) => port),
    ),
    nodes,
    masterOf,
    settled,
    reshard,
    async replicasOf(master: ClusterNode) {
      const report = await master.server.command('CLUSTER', 'REPLICAS', master.id);
      return nodes.filter((node) => report.includes(node.id) && node !== master);
    },
    async stop() {
      await Promise.all(nodes.map(({ server }) => server.stop()));
    },
  };
}

async function moveKeys(from: Node, to: Node, slot: string): Promise<void> {
  for (;;) {
    const reply = await from.server.command('CLUSTER', 'GETKEYSINSLOT', slot, '1');
    const key = /^\*1\r\n\$\d+\r\n(.*)\r\n$/.exec(reply)?.[1];
    if (key === undefined) {
      return;
    }
    await from.server.command('MIGRATE', '127.0.0.1', String(to.port), key, '0', '2000');
  }
}

const bulk = (reply: string) => reply.split('\r\n')[1] ?? '';
