import type { FaultProxy } from '../network/fault-proxy.ts';
import type { Certificate } from '../network/tls.ts';
import type { RedisServer } from './redis-server.ts';

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

export const STORE_USER = 'gatehouse';
export const STORE_PASSWORD = 'the-store-of-a-test';
/** How long servers may take until they agree. */
export const READY_DEADLINE_SECONDS = 40;
export const persistent = [
  '--appendonly',
  'yes',
  '--repl-diskless-sync-delay',
  '0',
  // The first ping changes the offsets from 0.
  '--repl-ping-replica-period',
  '1',
];

/** Replicas with a recent acknowledgment. Before the first one, the offset is 0. */
export function countInSync(report: string): number {
  return [...report.matchAll(/state=online,offset=[1-9]\d*,lag=[01]\b/g)].length;
}

export function credentials(security: TopologySecurity | undefined): string {
  return security === undefined ? '' : `${STORE_USER}:${STORE_PASSWORD}@`;
}

export function securityArguments(
  security: TopologySecurity | undefined,
  tlsPort: number,
): readonly string[] {
  if (security === undefined) {
    return [];
  }
  return [
    ...tlsLines(security.certificate, tlsPort).flatMap((line) => `--${line}`.split(' ')),
    '--tls-cluster',
    'yes',
    '--user',
    STORE_USER,
    ...security.accessRule.split(' '),
    `>${STORE_PASSWORD}`,
  ];
}

export function tlsLines(
  { certificateFile, keyFile }: Certificate,
  port: number,
): readonly string[] {
  return [
    `tls-port ${port}`,
    `tls-cert-file ${certificateFile}`,
    `tls-key-file ${keyFile}`,
    `tls-ca-cert-file ${certificateFile}`,
    'tls-auth-clients no',
    'tls-replication yes',
  ];
}
