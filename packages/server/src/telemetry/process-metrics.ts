import { readdirSync, readFileSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { CollectedMetric, MetricsRegistry } from './metrics-registry.ts';

const NANOSECONDS = 1e9;
const MICROSECONDS = 1e6;
const MILLISECONDS = 1e3;
const DELAY_RESOLUTION_MILLISECONDS = 20;

/**
 * Metrics of every process. Names without `gatehouse_` are those of the Prometheus clients.
 *
 * @param options.isSupervisor the process serves no requests itself
 */
export function addProcessMetrics(
  registry: MetricsRegistry,
  { app, isSupervisor = false }: { readonly app: string; readonly isSupervisor?: boolean },
): { countRestart(): void } {
  const loop = isSupervisor ? [] : eventLoopMetrics();
  for (const metric of [buildInfo(app), ...resourceMetrics(), ...loop]) {
    registry.collect(metric);
  }
  registry.collect({
    name: 'gatehouse_workers',
    help: 'Processes that serve requests.',
    type: 'gauge',
    acrossWorkers: 'sum',
    read: () => (isSupervisor ? 0 : 1),
  });
  const restarts = registry.counter({
    name: 'gatehouse_worker_restarts_total',
    help: 'Workers that ended unexpectedly.',
  });
  return {
    countRestart() {
      restarts.of().value += 1;
    },
  };
}

/** Shows the key that a server encrypts with, so that operators can compare all servers. */
export function collectMasterKey(registry: MetricsRegistry, currentKeyId: () => string): void {
  registry.collect({
    name: 'gatehouse_master_key_info',
    help: 'The id of the master key that encrypts. The value is always 1.',
    type: 'gauge',
    acrossWorkers: 'max',
    read: () => [{ labels: { key_id: currentKeyId() }, value: 1 }],
  });
}

function buildInfo(app: string): CollectedMetric {
  const file = new URL('../../package.json', import.meta.url);
  const { version } = JSON.parse(readFileSync(file, 'utf8')) as { version: string };
  const labels = { app, version, node: process.versions.node };
  return {
    name: 'gatehouse_build_info',
    help: 'The app and its versions. The value is always 1.',
    type: 'gauge',
    acrossWorkers: 'max',
    read: () => [{ labels, value: 1 }],
  };
}

function resourceMetrics(): readonly CollectedMetric[] {
  const startTime = Date.now() / MILLISECONDS - process.uptime();
  const gauge = (name: string, help: string, read: CollectedMetric['read']) =>
    ({ name, help, type: 'gauge', acrossWorkers: 'sum', read }) as const;
  return [
    {
      ...gauge(
        'process_start_time_seconds',
        'Start time of the process, in seconds since 1970.',
        () => startTime,
      ),
      acrossWorkers: 'min',
    },
    {
      name: 'process_cpu_seconds_total',
      help: 'User and system processor time.',
      type: 'counter',
      read() {
        const { user, system } = process.cpuUsage();
        return (user + system) / MICROSECONDS;
      },
    },
    gauge('process_resident_memory_bytes', 'Resident memory.', () => process.memoryUsage.rss()),
    gauge(
      'gatehouse_heap_bytes',
      'Memory of JavaScript objects and of buffers outside the heap.',
      () => {
        const { heapUsed, heapTotal, external } = process.memoryUsage();
        return samplesBy('kind', { used: heapUsed, total: heapTotal, external });
      },
    ),
    gauge(
      'process_open_fds',
      'Open file descriptors. Absent if the system does not report them.',
      countOpenFiles,
    ),
    gauge(
      'gatehouse_active_handles',
      'Resources that keep the event loop alive: sockets, timers, pending operations.',
      () => process.getActiveResourcesInfo().length,
    ),
  ];
}

function eventLoopMetrics(): readonly CollectedMetric[] {
  const delay = monitorEventLoopDelay({ resolution: DELAY_RESOLUTION_MILLISECONDS });
  delay.enable();
  const seconds = (nanoseconds: number) =>
    Math.max(0, nanoseconds / NANOSECONDS - DELAY_RESOLUTION_MILLISECONDS / MILLISECONDS);
  return [
    {
      name: 'gatehouse_event_loop_delay_seconds',
      help: 'Delay of timers since the last scrape.',
      type: 'gauge',
      acrossWorkers: 'max',
      read() {
        const [median, high] = [delay.percentile(50), delay.percentile(99)].map(seconds);
        const samples = { '0.5': median, '0.99': high, '1': seconds(delay.max) };
        delay.reset();
        return samplesBy('quantile', samples);
      },
    },
    {
      name: 'gatehouse_event_loop_seconds_total',
      help: 'Time in which the event loop was active or idle.',
      type: 'counter',
      read() {
        const { active, idle } = performance.eventLoopUtilization();
        return samplesBy('state', { active: active / MILLISECONDS, idle: idle / MILLISECONDS });
      },
    },
  ];
}

function samplesBy(label: string, values: Readonly<Record<string, number | undefined>>) {
  return Object.entries(values).map(([text, value = 0]) => ({ labels: { [label]: text }, value }));
}

function countOpenFiles() {
  try {
    // The listing itself opens one of them.
    return [{ value: readdirSync('/proc/self/fd').length - 1 }];
  } catch {
    return [];
  }
}
