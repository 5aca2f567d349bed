/**
 * The reference lists every value that a label of a metric can have, and how each gauge combines
 * the values of several workers.
 */
import type { Server } from 'node:http';
import { errorCatalogue } from '@gatehouse/errors';
import {
  addProcessMetrics,
  createMetricsRegistry,
  createRequestMetrics,
  type MetricsRegistry,
} from '@gatehouse/server';
import { storeOperations } from '@gatehouse/store';
import { expect, test } from '@jest/globals';
import { createAuthorizationServerMetrics } from '../apps/authorization-server/src/metrics/authorization-server-metrics.ts';
import { observeDatabase } from '../apps/device-service/src/database/observation.ts';
import { createCallers } from '../apps/device-service/src/http/caller.ts';
import { createGatewayMetrics } from '../apps/gateway/src/metrics/gateway-metrics.ts';
import { createUpstream } from '../apps/gateway/src/upstream/upstream.ts';
import { createStoreMetrics } from '../packages/server/src/operations/store-metrics.ts';
import type { Connections } from '../packages/server/src/server/connections.ts';
import { addServerMetrics } from '../packages/server/src/server/server-metrics.ts';
import { readDocument, section, tableRows } from './documents.ts';

type App = 'authorization-server' | 'gateway' | 'device-service';
const apps: readonly App[] = ['authorization-server', 'gateway', 'device-service'];

/** Labels with lists of names that other pages have, or with versions. */
const NAMES = new Set(['operation', 'event', 'upstream', 'app', 'version', 'node']);

const inBackticks = (text = '') => [...text.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name);

function listedValues(): readonly string[] {
  const rows = tableRows(readDocument('docs/operations/reference.md'), 'Label values');
  return rows.flatMap(({ cells: [label, metrics, where = '', values] }) => {
    const named = where === 'every server' ? apps : inBackticks(where);
    return named.flatMap((app) =>
      inBackticks(metrics).flatMap((metric) =>
        inBackticks(values).map((value) => `${app} ${metric} ${inBackticks(label)}=${value}`),
      ),
    );
  });
}

/** A registry that records the label values that each metric declares or exports. */
function recordValues(app: App, into: Set<string>, rules?: Map<string, string>): MetricsRegistry {
  const add = (metric: string, labels: Readonly<Record<string, readonly string[]>> = {}) => {
    for (const [label, values] of Object.entries(labels)) {
      const isErrorCode = metric === 'gatehouse_requests_total' && label === 'code';
      for (const value of NAMES.has(label) || isErrorCode ? [] : values) {
        into.add(`${app} ${metric} ${label}=${value}`);
      }
    }
  };
  const registry = createMetricsRegistry();
  return {
    counter(definition) {
      add(definition.name, definition.labels);
      return registry.counter(definition);
    },
    histogram(definition) {
      add(definition.name, definition.labels);
      return registry.histogram(definition);
    },
    collect(metric) {
      const { name, read } = metric;
      if (metric.type === 'gauge') {
        rules?.set(name, metric.acrossWorkers);
      }
      const samples = read();
      for (const { labels = {} } of typeof samples === 'number' ? [] : samples) {
        add(name, Object.fromEntries(Object.entries(labels).map(([key, value]) => [key, [value]])));
      }
    },
    families: registry.families,
    text: () => registry.text(),
  };
}

async function producedValues(rules?: Map<string, string>): Promise<ReadonlySet<string>> {
  const values = new Set<string>();
  const load = () => ({ connections: 0, requests: 0 });
  for (const app of apps) {
    const server = { on: () => server } as unknown as Server;
    addServerMetrics(recordValues(app, values, rules), server, { load } as unknown as Connections);
  }
  for (const app of apps.slice(0, 2)) {
    for (const engine of ['sqlite', 'redis']) {
      createStoreMetrics(recordValues(app, values, rules), { engine, operations: storeOperations });
    }
  }
  createAuthorizationServerMetrics(recordValues('authorization-server', values, rules));
  for (const engine of ['sqlite', 'postgres'] as const) {
    const registry = recordValues('device-service', values, rules);
    observeDatabase(registry, engine);
    createCallers({ issuer: '', jwksUrl: 'http://localhost', registry, now: Date.now });
    addProcessMetrics(registry, { app: 'device-service' });
    createRequestMetrics(registry, {
      operations: [],
      credentials: [],
      codes: Object.keys(errorCatalogue),
    });
  }
  const upstream = createUpstream({
    url: 'http://127.0.0.1:1',
    health: undefined,
    onCircuitChange: () => {},
    connections: 1,
    streamConnections: 1,
    maximumRequests: 1,
  });
  const gateway = createGatewayMetrics(recordValues('gateway', values, rules), { routes: [] });
  gateway.watchUpstreams(new Map([['devices', upstream]]));
  await upstream.close();
  return values;
}

test('lists exactly the values of every label', async () => {
  expect([...listedValues()].sort()).toEqual([...(await producedValues())].sort());
});

test('names every gauge that is not a sum of the workers', async () => {
  const rules = new Map<string, string>();
  await producedValues(rules);
  const named = (rule: string) => {
    const points = section(readDocument('docs/operations/reference.md'), 'Several workers').split(
      '\n- ',
    );
    return inBackticks(points.find((point) => point.includes(`are the ${rule}`)));
  };
  const withRule = (rule: string) =>
    [...rules].flatMap(([name, each]) => (each === rule ? [name] : []));
  // Its value is always 1.
  rules.delete('gatehouse_build_info');
  expect(named('largest').sort()).toEqual(withRule('max').sort());
  expect(named('smallest').sort()).toEqual(withRule('min').sort());
});
