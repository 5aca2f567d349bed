/**
 * Compares the calls of the client library with bare `fetch` (README.md).
 *
 *   node bench/client/run.ts [--gateway] [--concurrency 1,16] [--rounds 60] [--seconds 0.2]
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { stopAll } from '../machinery/processes.ts';
import { processorSeconds } from '../machinery/processor-time.ts';
import { type Measurement, printTable } from './report.ts';
import { createSubjects, type Subject } from './subjects.ts';
import { startGateway, startSmallServer, type Target } from './targets.ts';

/** In these calls of each subject, Node compiles and optimizes the code. */
const WARM_UP_CALLS = 4000;
const WARM_UP_CONCURRENCY = 16;

const { values: options } = parseArgs({
  options: {
    gateway: { type: 'boolean', default: false },
    concurrency: { type: 'string', default: '16' },
    rounds: { type: 'string', default: '60' },
    seconds: { type: 'string', default: '0.2' },
  },
});
const seconds = Number(options.seconds);
const directory = mkdtempSync(join(tmpdir(), 'gatehouse-bench-'));
try {
  await compare(options.gateway ? await startGateway(directory) : await startSmallServer());
} finally {
  await stopAll();
  rmSync(directory, { recursive: true, force: true });
}

async function compare(target: Target): Promise<void> {
  const subjects = createSubjects(target).filter(
    ({ hasConstantSignature }) => !(options.gateway && hasConstantSignature),
  );
  for (const { call } of subjects) {
    let calls = 0;
    await repeat(call, WARM_UP_CONCURRENCY, () => calls++ < WARM_UP_CALLS);
  }
  for (const concurrency of options.concurrency.split(',').map(Number)) {
    const measurements = new Map(subjects.map(({ name }) => [name, [] as Measurement[]]));
    for (let round = 0; round < Number(options.rounds); round += 1) {
      // Each round begins with another subject, so that no subject always follows the same one.
      const first = round % subjects.length;
      for (const { name, call } of [...subjects.slice(first), ...subjects.slice(0, first)]) {
        measurements.get(name)?.push(await measure(call, concurrency, target.pids));
      }
    }
    console.log(`\n${concurrency} at a time`);
    printTable(subjects, measurements);
  }
}

async function measure(
  call: Subject['call'],
  concurrency: number,
  pids: readonly number[],
): Promise<Measurement> {
  const serverStart = processorSeconds(pids);
  const processorStart = process.cpuUsage();
  const startedAt = performance.now();
  const end = startedAt + seconds * 1000;
  let calls = 0;
  await repeat(call, concurrency, () => {
    const mayBegin = performance.now() < end;
    calls += mayBegin ? 1 : 0;
    return mayBegin;
  });
  const elapsed = (performance.now() - startedAt) / 1000;
  const { user, system } = process.cpuUsage(processorStart);
  return {
    calls,
    callsPerSecond: calls / elapsed,
    microseconds: (user + system) / calls,
    serverSeconds: processorSeconds(pids) - serverStart,
  };
}

async function repeat(
  call: Subject['call'],
  concurrency: number,
  mayBegin: () => boolean,
): Promise<void> {
  const sequence = async () => {
    while (mayBegin()) {
      const reply = await call();
      if (reply.status !== 200) {
        throw new Error(`The server replied with ${reply.status}: ${await reply.text()}`);
      }
      await reply.json();
    }
  };
  await Promise.all(Array.from({ length: concurrency }, sequence));
}
