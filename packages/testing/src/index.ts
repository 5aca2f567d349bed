export { type AppName, type AppProcess, startApp } from './app-process.ts';
export { type Certificate, makeCertificate } from './certificate.ts';
export {
  type Constellation,
  type ConstellationOptions,
  startConstellation,
} from './constellation.ts';
export { freePort } from './free-port.ts';
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
export { type RedisServer, type RedisServerOptions, startRedisServer } from './redis-server.ts';
export {
  type StoreEngine,
  type StoreEngineName,
  startStoreEngine,
  storeEngines,
} from './store-engine.ts';
