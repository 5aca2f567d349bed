/**
 * CF-08: many users use every feature at the same time while the script measures memory and
 * handles. It exits with 1 if memory or handles still grow in the second half, or if a reply is
 * unexpected.
 *
 *   node bench/soak/run.ts [minutes] [users] [sqlite | redis]
 *   NODE_OPTIONS=… MALLOC_ARENA_MAX=… node bench/soak/run.ts …   passes these variables to the apps
 */
import { setTimeout as sleep } from 'node:timers/promises';
import {
  createVirtualUser,
  type Member,
  manyUsers,
  parseMetrics,
  type StoreEngineName,
  startConstellation,
  userClient,
} from '@gatehouse/testing';
import { median } from '../machinery/percentile.ts';

const minutes = Number(process.argv[2] ?? 10);
const count = Number(process.argv[3] ?? 20);
const engine = (process.argv[4] ?? 'redis') as StoreEngineName;

/** Variables that control how the processes use memory. */
const runtime = Object.entries(process.env).filter(([name]) => /^(?:NODE_|MALLOC_)/.test(name));
const SAMPLE_SECONDS = 5;
const MEBIBYTE = 1024 * 1024;
const MAXIMUM_SLOPE_MEBIBYTES_PER_MINUTE = 1;
const MAXIMUM_SLOPE_HANDLES_PER_MINUTE = 2;
const MAXIMUM_RESIDENT_MEBIBYTES = 150;

interface Sample {
  readonly minute: number;
  readonly residentMebibytes: number;
  readonly heapMebibytes: number;
  readonly handles: number;
  readonly openFiles: number;
  readonly cpuSeconds: number;
}

const system = await startConstellation({
  engine,
  bootstrap: manyUsers(count),
  environment: {
    TRUSTED_PROXIES: '127.0.0.1,::1',
    LOG_LEVEL: 'warn',
    ...(Object.fromEntries(runtime) as Record<string, string>),
  },
});
try {
  process.exitCode = await soak();
} finally {
  await system.stop();
}

async function soak(): Promise<number> {
  const users = Array.from({ length: count }, (_value, i) =>
    createVirtualUser({ ...userClient(i), ...system }),
  );
  const started = performance.now();
  const end = started + minutes * 60_000;
  const samples = new Map<Member, Sample[]>(system.members.map((member) => [member, []]));
  const using = users.map(async (user) => {
    while (performance.now() < end) {
      await user.round();
    }
  });
  while (performance.now() < end) {
    await sleep(SAMPLE_SECONDS * 1000);
    for (const [member, taken] of samples) {
      taken.push(await sample(member, (performance.now() - started) / 60_000));
    }
  }
  await Promise.all(using);

  const requests = users.reduce((sum, user) => sum + user.requests, 0);
  const disappointments = users.flatMap((user) => user.disappointments);
  console.log(`${minutes} min, ${count} users, ${engine}: ${requests} requests of applications\n`);
  const isFlat = [...samples].map(([{ app }, taken]) => report(app, taken)).every(Boolean);
  console.log(`\nunexpected replies: ${disappointments.length}`);
  console.log(disappointments.slice(0, 10));
  return isFlat && disappointments.length === 0 ? 0 : 1;
}

async function sample({ operationsUrl }: Member, minute: number): Promise<Sample> {
  const families = parseMetrics(await (await fetch(`${operationsUrl}/metrics`)).text());
  const value = (name: string) => families.get(name)?.samples[0]?.value ?? Number.NaN;
  return {
    minute,
    residentMebibytes: value('process_resident_memory_bytes') / MEBIBYTE,
    // The second sample is the total heap, including garbage.
    heapMebibytes:
      (families.get('gatehouse_heap_bytes')?.samples[1]?.value ?? Number.NaN) / MEBIBYTE,
    handles: value('gatehouse_active_handles'),
    openFiles: value('process_open_fds'),
    cpuSeconds: value('process_cpu_seconds_total'),
  };
}

function report(app: string, samples: readonly Sample[]): boolean {
  const half = samples.slice(Math.floor(samples.length / 2));
  const slopeOf = (member: keyof Sample) =>
    slope(half.map((each) => [each.minute, each[member]] as const));
  const memory = slopeOf('residentMebibytes');
  const handles = slopeOf('handles');
  const files = slopeOf('openFiles');
  const largest = Math.max(...samples.map(({ residentMebibytes }) => residentMebibytes));
  const course = samples
    .filter((_each, i) => i % Math.max(1, Math.floor(samples.length / 10)) === 0)
    .map(({ residentMebibytes }) => Math.round(residentMebibytes));
  console.log(
    `${app}: RSS MiB ${course.join(' ')}, largest ${largest.toFixed(0)}, of it heap ${samples.at(-1)?.heapMebibytes.toFixed(0)}; second half: ` +
      `${memory.toFixed(2)} MiB/min, handles ${handles.toFixed(1)}/min, files ${files.toFixed(1)}/min; ` +
      `${samples.at(-1)?.cpuSeconds.toFixed(0)} s of processor time`,
  );
  return (
    memory < MAXIMUM_SLOPE_MEBIBYTES_PER_MINUTE &&
    Math.max(handles, files) < MAXIMUM_SLOPE_HANDLES_PER_MINUTE &&
    // The median ignores the short peaks of password hashing.
    median(half.map(({ residentMebibytes }) => residentMebibytes)) < MAXIMUM_RESIDENT_MEBIBYTES
  );
}

/** The growth per minute, by least squares. */
function slope(points: readonly (readonly [x: number, y: number])[]): number {
  const mean = (values: readonly number[]) =>
    values.reduce((sum, each) => sum + each, 0) / values.length;
  const [meanX, meanY] = [mean(points.map(([x]) => x)), mean(points.map(([, y]) => y))];
  const rise = points.reduce((sum, [x, y]) => sum + (x - meanX) * (y - meanY), 0);
  const run = points.reduce((sum, [x]) => sum + (x - meanX) ** 2, 0);
  return rise / run;
}
