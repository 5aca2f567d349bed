/** Compares the calls of the client library with bare `fetch` (README.md). */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { createSubjects, type Subject, secureKey } from './subjects.ts';

const [rounds = 60, seconds = 0.2] = process.argv.slice(2).map(Number);
const CONCURRENCY = 16;
/** In these calls of each subject, Node compiles and optimizes the code. */
const WARM_UP_CALLS = 4000;

interface Measurement {
  readonly callsPerSecond: number;
  /** The processor time of one call in this process. */
  readonly microseconds: number;
  /** The part of the time in which the server used a processor. */
  readonly serverShare: number;
}

const server = fork(join(import.meta.dirname, 'server.ts'), [secureKey]);
const [port] = await once(server, 'message');
const subjects = createSubjects(`http://127.0.0.1:${port}`);
const bare = subjects[0]?.name ?? '';

const measurements = new Map(subjects.map(({ name }) => [name, [] as Measurement[]]));
for (const { call } of subjects) {
  let calls = 0;
  await repeat(call, () => calls++ < WARM_UP_CALLS);
}
for (let round = 0; round < rounds; round += 1) {
  // Each round begins with another subject, so that no subject always follows the same one.
  const first = round % subjects.length;
  for (const subject of [...subjects.slice(first), ...subjects.slice(0, first)]) {
    measurements.get(subject.name)?.push(await measure(subject));
  }
}
server.kill();
printTable();

async function measure({ call }: Subject): Promise<Measurement> {
  const serverStart = await processorTimeOf(server);
  const processorStart = process.cpuUsage();
  const startedAt = performance.now();
  const end = startedAt + seconds * 1000;
  let calls = 0;
  await repeat(call, () => {
    const mayBegin = performance.now() < end;
    calls += mayBegin ? 1 : 0;
    return mayBegin;
  });
  const elapsed = (performance.now() - startedAt) / 1000;
  const { user, system } = process.cpuUsage(processorStart);
  const serverTime = (await processorTimeOf(server)) - serverStart;
  return {
    callsPerSecond: calls / elapsed,
    microseconds: (user + system) / calls,
    serverShare: serverTime / 1_000_000 / elapsed,
  };
}

async function repeat(call: Subject['call'], mayBegin: () => boolean): Promise<void> {
  const sequence = async () => {
    while (mayBegin()) {
      await (await call()).json();
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, sequence));
}

/** In microseconds. */
async function processorTimeOf(child: ChildProcess): Promise<number> {
  child.send('report');
  const [{ user, system }] = await once(child, 'message');
  return user + system;
}

function printTable(): void {
  const columns = [
    ['subject', 'calls/s', '÷ bare', '÷ same bytes'],
    ['µs of processor time', '÷ bare', '÷ same bytes', 'processor time of the server'],
  ].flat();
  console.log(`| ${columns.join(' | ')} |\n|---|${'---|'.repeat(columns.length - 1)}`);
  for (const { name, sameBytes } of subjects) {
    const cells = (['callsPerSecond', 'microseconds'] as const).flatMap((key) => [
      Math.round(median(valuesOf(name, key))),
      ratio(name, bare, key),
      ratio(name, sameBytes, key),
    ]);
    const share = Math.round(100 * median(valuesOf(name, 'serverShare')));
    console.log(`| ${[name, ...cells, `${share} %`].join(' | ')} |`);
  }
  console.log(
    `load average ${loadavg()
      .map((load) => load.toFixed(1))
      .join(', ')}`,
  );
}

function valuesOf(name: string, key: keyof Measurement): readonly number[] {
  return (measurements.get(name) ?? []).map((each) => each[key]);
}

/** The median of the ratios of the rounds. */
function ratio(name: string, reference: string, key: keyof Measurement): string {
  const references = valuesOf(reference, key);
  return median(
    valuesOf(name, key).map((value, index) => value / (references[index] ?? 0)),
  ).toFixed(2);
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}
