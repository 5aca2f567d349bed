import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { generateSecureKey, type Identity, openIdentity } from '@gatehouse/identity';
import { createLogger, createMetricsRegistry, metricsText, serve } from '@gatehouse/server';
import { createStore } from '@gatehouse/store';
import { type Around, wrappedStore } from '@gatehouse/testing';
import { createGateway, type Gateway, type GatewayDependencies } from '../src/app.ts';
import { createGatewayMetrics, type GatewayMetrics } from '../src/metrics.ts';
import type { Route } from '../src/routes/route.ts';
import { deviceRoutes } from '../src/routes/route.ts';
import { type Received, type Sent, send } from './http-client.ts';
import { type RecordingUpstream, startRecordingUpstream } from './recording-upstream.ts';
import { createTestCredentials, type TestCredentials } from './test-credentials.ts';

export const publicUrl = 'http://gateway.example:8844';

/** Ends a suite: the gateway must still serve, and its log must contain no secret of the suite. */
export async function closeUnharmed(booted: BootedGateway): Promise<void> {
  try {
    booted.upstream.answerWith(undefined);
    const reply = await booted.send('/api/device', { headers: await booted.bearer() });
    if (reply.status !== 200) {
      throw new Error(`The gateway answers a good request with ${reply.status}.`);
    }
    if (booted.leakedSecrets().length > 0) {
      throw new Error(`A secret is in the log: ${booted.leakedSecrets().join(', ')}`);
    }
  } finally {
    await booted.close();
  }
}

/** The real gateway on a free port, with a real store, a real upstream and its log in memory. */
export interface BootedGateway extends TestCredentials {
  readonly port: number;
  readonly gateway: Gateway;
  readonly identity: Identity;
  readonly upstream: RecordingUpstream;
  readonly clientId: string;
  readonly secureKey: string;
  /** Sends a request on a separate connection. */
  send(path: string, options?: Sent): Promise<Received>;
  /** The header with a new access token. */
  bearer(change?: Record<string, unknown>): Promise<Record<string, string>>;
  log(): string;
  /** The metrics in the format of Prometheus. */
  metrics(): string;
  /** What the gateway counted for the time series. */
  readonly increments: GatewayMetrics['increments'];
  /** One log line per finished request. */
  logLines(): readonly Record<string, unknown>[];
  /** All secrets of the suite. None of them may appear in the log. */
  leakedSecrets(): readonly string[];
  close(): Promise<void>;
}

export interface BootOptions extends Partial<Omit<GatewayDependencies, 'identity' | 'logger'>> {
  readonly storeUrl?: string;
  /** Wraps the store, to fail or record its operations. */
  readonly around?: Around;
  readonly maximumConnections?: number;
  /** Allows two gateways to share a store. */
  readonly masterKey?: Buffer;
  readonly routes?: readonly Route[];
  readonly deviceServiceUrl?: string;
  /** The health path of the upstream. */
  readonly health?: string;
}

export async function bootGateway(options: BootOptions = {}): Promise<BootedGateway> {
  const directory = mkdtempSync(join(tmpdir(), 'gateway-'));
  const upstream = await startRecordingUpstream();
  const { around, masterKey = randomBytes(32), ...overrides } = options;
  const { storeUrl = `sqlite:${join(directory, 'store.sqlite')}` } = options;
  const now = options.now ?? Date.now;
  const opened = createStore(storeUrl);
  const store = around === undefined ? opened : wrappedStore(opened, around);
  const identity = openIdentity({ store, masterKey, now });
  const lines: string[] = [];
  const logger = createLogger({
    app: 'gateway',
    level: 'trace',
    destination: { write: (line) => lines.push(line) },
  });
  const routing = {
    routes: options.routes ?? deviceRoutes,
    upstreams: new Map([
      ['device-service', { url: options.deviceServiceUrl ?? upstream.url, health: options.health }],
    ]),
  };
  const registry = createMetricsRegistry();
  const metrics = createGatewayMetrics(registry);
  const gateway = createGateway({
    identity,
    logger,
    metrics,
    now,
    publicUrl,
    authorizationServerUrl: 'http://login.example:9000',
    routing,
    clientRateLimit: { requests: 1_000_000, windowSeconds: 60 },
    addressRateLimit: { requests: 1_000_000, windowSeconds: 60 },
    accessTokenMaximumSeconds: 24 * 3600,
    trustedProxies: [],
    forwardAuth: false,
    explorer: false,
    workers: 1,
    signatureToleranceMilliseconds: 300_000,
    strict: false,
    ...overrides,
  });
  const server = await serve(gateway.listener, {
    host: '127.0.0.1',
    port: 0,
    answersContinue: true,
    readsAnnouncedBodiesOnly: true,
    maximumConnections: options.maximumConnections ?? 2048,
    logger,
    upgrades: gateway.upgrades,
  });
  const secureKey = generateSecureKey();
  const secrets = new Set([secureKey]);
  const credentials = createTestCredentials({ identity, now, secureKey, secrets });

  const booted: BootedGateway = {
    port: server.port,
    gateway,
    identity,
    upstream,
    clientId: 'demo',
    secureKey,
    send: (path, sent) => send(server.port, path, sent),
    bearer: async (change) => ({
      Authorization: `Bearer ${await credentials.issueToken(change)}`,
    }),
    log: () => lines.join(''),
    metrics: () => metricsText(registry.families()),
    increments: metrics.increments,
    logLines: () => lines.map((line) => JSON.parse(line)),
    ...credentials,
    leakedSecrets: () => [...secrets].filter((secret) => lines.join('').includes(secret)),
    async close() {
      await server.close();
      await gateway.close();
      await upstream.close();
      await store.close();
      rmSync(directory, { recursive: true });
    },
  };
  await booted.saveClient({}, secureKey);
  return booted;
}
