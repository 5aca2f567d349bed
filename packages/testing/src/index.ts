export { type FaultProxy, startFaultProxy } from './network/fault-proxy.ts';
export { freePort } from './network/free-port.ts';
export {
  type Attack,
  type HostileProxy,
  type ProxiedReply,
  startHostileProxy,
} from './network/hostile-proxy.ts';
export { type Backend, type LoadBalancer, startLoadBalancer } from './network/load-balancer.ts';
export {
  type Certificate,
  createLocalTlsFetch,
  type LocalTlsOptions,
  makeCertificate,
  openLocalTls,
} from './network/tls.ts';
export {
  authorizeAsUser,
  basic,
  createPageVisitor,
  type PageVisitor,
  type VisitedPage,
} from './page-visitor.ts';
export { type MetricFamily, parseMetrics } from './prometheus-text.ts';
export {
  type AppName,
  type AppProcess,
  endWithThisProcess,
  processEnvironment,
  startApp,
} from './servers/app-process.ts';
export { type ClusterTopology, startClusterTopology } from './servers/cluster-topology.ts';
export {
  type Constellation,
  type ConstellationOptions,
  type Member,
  startConstellation,
} from './servers/constellation.ts';
export {
  type PostgresServer,
  type PostgresServerOptions,
  startPostgresServer,
} from './servers/postgres-server.ts';
export type { RedisNode, TopologySecurity } from './servers/redis-node.ts';
export {
  type RedisServer,
  type RedisServerOptions,
  startRedisServer,
} from './servers/redis-server.ts';
export { type SentinelTopology, startSentinelTopology } from './servers/sentinel-topology.ts';
export {
  type Around,
  integrationEngines,
  isNightly,
  listStoredKeys,
  type StoredKey,
  type StoreEngine,
  type StoreEngineName,
  startStoreEngine,
  storeEngines,
  wrappedStore,
} from './servers/store-engine.ts';
export {
  buildSigner,
  type ReferenceSigner,
  type RefusedRequestVector,
  type ReplyVector,
  type RequestVector,
  type SignerJob,
  type SignerLanguage,
  sanitizedC,
  signatureVectors,
  signerLanguages,
} from './signers.ts';
export { median, medianRatio, type Times } from './times.ts';
export { until } from './until.ts';
export {
  createVirtualUser,
  type Disappointment,
  manyUsers,
  userClient,
  type VirtualUser,
  type VirtualUserOptions,
} from './virtual-user.ts';
