/**
 * The device service: the operations of the device API, behind the gateway.
 *
 *   http/ (caller, router) ─▶ devices/ logs/ products tags (handlers ─▶ rules ─▶ SQL) ─▶ database/
 *                                 └▶ query/: lists                        └▶ of one organization
 *
 * The gateway owns external credentials, signatures and rate limits. This service trusts only the
 * gateway's internal token.
 */
import { operations } from '@gatehouse/device-api';
import { errorCatalogue } from '@gatehouse/errors';
import {
  addProcessMetrics,
  createMetricsRegistry,
  createRequestMetrics,
  type Logger,
  type MetricsRegistry,
  observeRequests,
  openTracer,
  type ServedApp,
  type Tracer,
} from '@gatehouse/server';
import { LRUCache } from 'lru-cache';
import type { DeviceServiceConfiguration } from './config.ts';
import { openDatabase } from './database/open-database.ts';
import {
  type OrganizationDatabase,
  scopeToOrganization,
} from './database/organization-database.ts';
import type { OpenDatabase } from './database/tables.ts';
import { deviceHandlers } from './devices/http.ts';
import { createDevice } from './devices/rules.ts';
import { type Callers, createCallers } from './http/caller.ts';
import type { Handlers } from './http/handler.ts';
import { handleRequests } from './http/requests.ts';
import { startLogExpiry } from './logs/expiry.ts';
import { logHandlers } from './logs/http.ts';
import { productHandlers } from './products.ts';
import { tagHandlers } from './tags.ts';

/** @gatehouse/device-api lists the methods, paths and scopes of the operations. */
const handlers: Handlers = {
  ...deviceHandlers,
  ...tagHandlers,
  ...logHandlers,
  ...productHandlers,
};

const CACHED_ORGANIZATIONS = 1000;
/** The bootstrap of the authorization server creates the demo clients in this organization. */
const DEMO_ORGANIZATION = 'demo';
/** The commands that `npm start` prints return this device. */
const DEMO_DEVICE = {
  id: 'demo-device-1',
  name: 'Demo device',
  productId: 'demo-product',
  productName: 'Demo product',
};

export async function openDeviceService(
  configuration: DeviceServiceConfiguration,
  logger: Logger,
): Promise<ServedApp> {
  const { gatewayUrl, gatewayJwksUrl, workers, demo } = configuration;
  const { engine } = configuration.database;
  // The gateway decides which requests have spans.
  const sampler = 'parentbased_always_off';
  const tracer = await openTracer({ app: 'device-service', logger, sampler });
  const registry = createMetricsRegistry();
  addProcessMetrics(registry, { app: 'device-service' });
  const database = await openDatabase(
    configuration.database,
    async (tables) => {
      if (demo) {
        const ofDemo = scopeToOrganization({ engine, tables }, DEMO_ORGANIZATION);
        await createDevice(ofDemo, DEMO_DEVICE, Date.now());
      }
    },
    workers,
    registry,
    tracer,
  );
  const callers = createCallers({
    issuer: gatewayUrl,
    jwksUrl: gatewayJwksUrl,
    registry,
    now: Date.now,
  });
  const expiry = startLogExpiry({
    database,
    retentionDays: configuration.logRetentionDays,
    now: Date.now,
    onFailure: (err) => logger.warn({ err }, 'expired log records were not deleted'),
  });
  return {
    listener: createApp({ database, callers, now: Date.now, logger, registry, tracer }),
    metrics: registry,
    checks: { database: database.ping },
    // Every instance shares a database that refuses writes, and reads still work. The gateway may
    // start later.
    peers: { 'database-writes': database.assertWritable, 'gateway-keys': callers.haveKeys },
    documents: { '/database': database.about },
    async release() {
      await expiry.close();
      await database.close();
      await tracer?.close();
    },
  };
}

export function createApp(dependencies: {
  readonly database: OpenDatabase;
  readonly callers: Pick<Callers, 'authenticate'>;
  /** Epoch milliseconds. */
  readonly now: () => number;
  readonly logger: Logger;
  readonly registry: MetricsRegistry;
  /** Undefined while tracing is off. */
  readonly tracer?: Tracer | undefined;
}) {
  const { database, callers, now, logger, registry, tracer } = dependencies;
  const databases = new LRUCache<string, OrganizationDatabase>({
    max: CACHED_ORGANIZATIONS,
    memoMethod: (organizationId) => scopeToOrganization(database, organizationId),
  });
  return observeRequests(handleRequests({ handlers, callers, databases, now }), logger, {
    observer: createRequestMetrics(registry, {
      operations: ['unmatched', ...operations.map(({ name }) => name)],
      credentials: [],
      codes: Object.keys(errorCatalogue),
    }),
    leavesHeaderToListener: true,
    tracer,
  });
}
