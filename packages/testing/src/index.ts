export { type AppName, type AppProcess, startApp } from './app-process.ts';
export { type Certificate, makeCertificate } from './certificate.ts';
export {
  type Constellation,
  type ConstellationOptions,
  type Member,
  startConstellation,
} from './constellation.ts';
export { type FaultProxy, startFaultProxy } from './fault-proxy.ts';
export { freePort } from './free-port.ts';
export { type Backend, type LoadBalancer, startLoadBalancer } from './load-balancer.ts';
export { createLocalTlsFetch, type LocalTlsOptions, openLocalTls } from './local-tls.ts';
export {
  authorizeAsUser,
  createPageVisitor,
  type PageVisitor,
  type VisitedPage,
} from './page-visitor.ts';
export {
  type PostgresServer,
  type PostgresServerOptions,
  startPostgresServer,
} from './postgres-server.ts';
export { processEnvironment } from './process-environment.ts';
export { type MetricFamily, parseMetrics } from './prometheus-text.ts';
export { type RedisServer, type RedisServerOptions, startRedisServer } from './redis-server.ts';
export {
  type ClusterTopology,
  type RedisNode,
  type SentinelTopology,
  startClusterTopology,
  startSentinelTopology,
  type TopologySecurity,
} from './redis-topologies.ts';
export {
  type StoreEngine,
  type StoreEngineName,
  startStoreEngine,
  storeEngines,
} from './store-engine.ts';
export { listStoredKeys, type StoredKey } from './stored-keys.ts';
export {
  createVirtualUser,
  type Disappointment,
  type VirtualUser,
  type VirtualUserOptions,
} from './virtual-user.ts';
export { manyUsers, userClient } from './virtual-users-bootstrap.ts';
