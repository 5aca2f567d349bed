import type { Server } from 'node:http';
import type { MetricsRegistry } from '../telemetry/metrics-registry.ts';
import { CLIENT_ERROR_CODES, type ClientErrorCode } from './client-error.ts';
import type { Connections } from './connections.ts';

/**
 * Metrics of events before a request exists, and of the load of a server.
 *
 * @returns an observer of input that is not a request
 */
export function addServerMetrics(
  registry: MetricsRegistry,
  server: Server,
  connections: Connections,
): (code: ClientErrorCode) => void {
  registry.collect({
    name: 'gatehouse_connections',
    help: 'Open connections.',
    type: 'gauge',
    acrossWorkers: 'sum',
    read: () => connections.load().connections,
  });
  registry.collect({
    name: 'gatehouse_requests_in_flight',
    help: 'Requests without a complete reply.',
    type: 'gauge',
    acrossWorkers: 'sum',
    read: () => connections.load().requests,
  });
  const refused = registry.counter({
    name: 'gatehouse_connections_refused_total',
    help: 'Connections that were closed immediately, because too many were open.',
  });
  server.on('drop', () => {
    refused.of().value += 1;
  });
  const malformed = registry.counter({
    name: 'gatehouse_malformed_requests_total',
    help: 'Input that was not a request: invalid HTTP, too large headers, or too slow.',
    labels: { code: CLIENT_ERROR_CODES },
  });
  return (code) => {
    malformed.of(code).value += 1;
  };
}
