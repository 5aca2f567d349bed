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
 * @returns the counter of restarted workers
 */
export function addProcessMetrics(
  registry: MetricsRegistry,
  { app, isSupervisor = false }: { readonly app: string; readonly isSupervisor?: boolean },
): { value: number } {
  const loop = isSupervisor ? [] : eventLoopMetrics();
  for (const metric of [buildInfo(app), ...resourceMetrics(), ...loop]) {
    registry.collect(metric);
  }
  registry.collect({
    name: 'gatehouse_workers',
    help: 'Processes that serve requests.',
    acrossWorkers: 'sum',
    read: () => (isSupervisor ? 0 : 1),
  });
  const restarts = registry.counter({
    name: 'gatehouse_worker_restarts_total',
    help: 'Workers that ended unexpectedly.',
  });
  return restarts.of();
}

/** Shows the key that a server encrypts with, so that operators can compare all servers. */
export function collectMasterKey(registry: MetricsRegistry, currentKeyId: () => string): void {
  registry.collect({
    name: 'gatehouse_master_key_info',
    help: 'The id of the master key that encrypts. The value is always 1.',
    acrossWorkers: 'max',
    read: () => [{ labels: { key_id: currentKeyId() }, value: 1 }],
  });
}

/** The version of Gatehouse. */
export function readVersion(): string {
  const file = new URL('../../package.json', import.meta.url);
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version;
}

function buildInfo(app: string): CollectedMetric {
  const labels = { app, version: readVersion(), node: process.versions.node };
  return {
    name: 'gatehouse_build_info',
    help: 'The app and its versions. The value is always 1.',
    acrossWorkers: 'max',
    read: () => [{ labels, value: 1 }],
  };
}

function resourceMetrics(): readonly CollectedMetric[] {
  const startTime = Date.now() / MILLISECONDS - process.uptime();
  return [
    {
      name: 'process_start_time_seconds',
      help: 'Start time of the process, in seconds since 1970.',
      acrossWorkers: 'min',
      read: () => startTime,
    },
    {
      name: 'process_cpu_seconds_total',
      help: 'User and system processor time.',
      read() {
        const { user, system } = process.cpuUsage();
        return (user + system) / MICROSECONDS;
      },
    },
    {
      name: 'process_resident_memory_bytes',
      help: 'Resident memory.',
      acrossWorkers: 'sum',
      read: () => process.memoryUsage.rss(),
    },
    {
      name: 'gatehouse_heap_bytes',
      help: 'Memory of JavaScript objects and of buffers outside the heap.',
      acrossWorkers: 'sum',
      read() {
        const { heapUsed, heapTotal, external } = process.memoryUsage();
        return samplesBy('kind', { used: heapUsed, total: heapTotal, external });
      },
    },
    {
      name: 'process_open_fds',
      help: 'Open file descriptors. Absent if the system does not report them.',
      acrossWorkers: 'sum',
      read: countOpenFiles,
    },
    {
      name: 'gatehouse_active_handles',
      help: 'Resources that keep the event loop alive: sockets, timers, pending operations.',
      acrossWorkers: 'sum',
      read: () => process.getActiveResourcesInfo().length,
    },
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

function countOpenFiles(): number | undefined {
  try {
    // The listing itself opens one of them.
    return readdirSync('/proc/self/fd').length - 1;
  } catch {
    return undefined;
  }
}
