import { readdirSync, readFileSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { MetricsRegistry } from './metrics-registry.ts';

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
  addBuildInfo(registry, app);
  addResources(registry);
  if (!isSupervisor) {
    addEventLoop(registry);
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

function addBuildInfo(registry: MetricsRegistry, app: string): void {
  const file = new URL('../../package.json', import.meta.url);
  const { version } = JSON.parse(readFileSync(file, 'utf8')) as { version: string };
  const labels = { app, version, node: process.versions.node };
  registry.collect({
    name: 'gatehouse_build_info',
    help: 'The app and its versions. The value is always 1.',
    type: 'gauge',
    acrossWorkers: 'max',
    read: () => [{ labels, value: 1 }],
  });
}

function addResources(registry: MetricsRegistry): void {
  const startTime = Date.now() / MILLISECONDS - process.uptime();
  registry.collect({
    name: 'process_start_time_seconds',
    help: 'Start time of the process, in seconds since 1970.',
    type: 'gauge',
    acrossWorkers: 'min',
    read: () => startTime,
  });
  registry.collect({
    name: 'process_cpu_seconds_total',
    help: 'User and system processor time.',
    type: 'counter',
    read: () => {
      const { user, system } = process.cpuUsage();
      return (user + system) / MICROSECONDS;
    },
  });
  registry.collect({
    name: 'process_resident_memory_bytes',
    help: 'Resident memory.',
    type: 'gauge',
    acrossWorkers: 'sum',
    read: () => process.memoryUsage.rss(),
  });
  registry.collect({
    name: 'gatehouse_heap_bytes',
    help: 'Memory of JavaScript objects and of buffers outside the heap.',
    type: 'gauge',
    acrossWorkers: 'sum',
    read: () => {
      const { heapUsed, heapTotal, external } = process.memoryUsage();
      return [
        { labels: { kind: 'used' }, value: heapUsed },
        { labels: { kind: 'total' }, value: heapTotal },
        { labels: { kind: 'external' }, value: external },
      ];
    },
  });
  registry.collect({
    name: 'process_open_fds',
    help: 'Open file descriptors. Absent if the system does not report them.',
    type: 'gauge',
    acrossWorkers: 'sum',
    read: () => countOpenFiles(),
  });
  registry.collect({
    name: 'gatehouse_active_handles',
    help: 'Resources that keep the event loop alive: sockets, timers, pending operations.',
    type: 'gauge',
    acrossWorkers: 'sum',
    read: () => process.getActiveResourcesInfo().length,
  });
}

function addEventLoop(registry: MetricsRegistry): void {
  const delay = monitorEventLoopDelay({ resolution: DELAY_RESOLUTION_MILLISECONDS });
  delay.enable();
  registry.collect({
    name: 'gatehouse_event_loop_delay_seconds',
    help: 'Delay of timers since the last scrape.',
    type: 'gauge',
    acrossWorkers: 'max',
    read: () => {
      const seconds = (nanoseconds: number) =>
        Math.max(0, nanoseconds / NANOSECONDS - DELAY_RESOLUTION_MILLISECONDS / MILLISECONDS);
      const samples = [
        { labels: { quantile: '0.5' }, value: seconds(delay.percentile(50)) },
        { labels: { quantile: '0.99' }, value: seconds(delay.percentile(99)) },
        { labels: { quantile: '1' }, value: seconds(delay.max) },
      ];
      delay.reset();
      return samples;
    },
  });
  registry.collect({
    name: 'gatehouse_event_loop_seconds_total',
    help: 'Time in which the event loop was active or idle.',
    type: 'counter',
    read: () => {
      const { active, idle } = performance.eventLoopUtilization();
      return [
        { labels: { state: 'active' }, value: active / MILLISECONDS },
        { labels: { state: 'idle' }, value: idle / MILLISECONDS },
      ];
    },
  });
}

function countOpenFiles() {
  try {
    // The listing itself opens one of them.
    return [{ value: readdirSync('/proc/self/fd').length - 1 }];
  } catch {
    return [];
  }
}
