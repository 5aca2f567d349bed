export { type AppName, type AppProcess, startApp } from './apps/app-process.ts';
export {
  type Constellation,
  type ConstellationOptions,
  type Member,
  startConstellation,
} from './apps/constellation.ts';
export { endWithThisProcess } from './apps/end-with-this-process.ts';
export { processEnvironment } from './apps/process-environment.ts';
export { type MetricFamily, parseMetrics } from './apps/prometheus-text.ts';
export { type Certificate, makeCertificate } from './network/certificate.ts';
export { type FaultProxy, startFaultProxy } from './network/fault-proxy.ts';
export { freePort } from './network/free-port.ts';
export {
  type Attack,
  type HostileProxy,
  type ProxiedReply,
  startHostileProxy,
} from './network/hostile-proxy.ts';
export { type Backend, type LoadBalancer, startLoadBalancer } from './network/load-balancer.ts';
export { createLocalTlsFetch, type LocalTlsOptions, openLocalTls } from './network/local-tls.ts';
export {
  buildSigner,
  type ReferenceSigner,
  type SignerJob,
  type SignerLanguage,
  sanitizedC,
  signerLanguages,
} from './signers/reference-signer.ts';
export {
  type RefusedRequestVector,
  type ReplyVector,
  type RequestVector,
  signatureVectors,
} from './signers/signature-vectors.ts';
export { type ClusterTopology, startClusterTopology } from './stores/cluster-topology.ts';
export {
  type PostgresServer,
  type PostgresServerOptions,
  startPostgresServer,
} from './stores/postgres-server.ts';
export type { RedisNode, TopologySecurity } from './stores/redis-node.ts';
export {
  type RedisServer,
  type RedisServerOptions,
  startRedisServer,
} from './stores/redis-server.ts';
export { type SentinelTopology, startSentinelTopology } from './stores/sentinel-topology.ts';
export {
  integrationEngines,
  isNightly,
  type StoreEngine,
  type StoreEngineName,
  startStoreEngine,
  storeEngines,
} from './stores/store-engine.ts';
export { listStoredKeys, type StoredKey } from './stores/stored-keys.ts';
export { type Around, wrappedStore } from './stores/wrapped-store.ts';
export { median, medianRatio, type Times } from './times.ts';
export { until } from './until.ts';
export { basic } from './users/basic.ts';
export {
  authorizeAsUser,
  createPageVisitor,
  type PageVisitor,
  type VisitedPage,
} from './users/page-visitor.ts';
export {
  createVirtualUser,
  type Disappointment,
  type VirtualUser,
  type VirtualUserOptions,
} from './users/virtual-user.ts';
export { manyUsers, userClient } from './users/virtual-users-bootstrap.ts';
