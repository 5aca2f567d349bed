/**
 * Measures requests on the whole path: client, gateway, device service, store and database. It
 * compares this checkout with an earlier commit, with its gateway in front of a bare Node server
 * that sends the same bytes from memory, and with that server behind plain nginx (the floor). All
 * of them run at the same time and are measured alternately, so other load affects them equally.
 *
 *   node bench/whole-path/run.ts [--engines embedded,servers] [--cases list,detail,…]
 *     [--credentials bearer,signed] [--connections 1,16,64,256] [--sides before,after,socket,bare,…]
 *     [--rounds 5] [--seconds 1] [--before COMMIT] [--burst 128] [--json FILE]
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { checkOutCommit } from '../machinery/earlier-commit.ts';
import { stopAll } from '../machinery/processes.ts';
import { writeRequests } from '../machinery/request-file.ts';
import { type Measured, measure } from '../machinery/wrk.ts';
import { type Case, type Credential, cases, createRequest, isConstant } from './cases.ts';
import { printBursts, printSamples } from './report.ts';
import { type Side, type SideName, startSides } from './sides.ts';
import type { Engines } from './system.ts';

/** Issue work on the whole path begins after this commit. */
const BEFORE = '668dc1d';
/** More than any side sends. Each signed request and each write is used once. */
const REQUESTS_PER_SECOND = 25_000;
const BURST_SECONDS = 2;
/** The processor time of a bare server for a request. */
const BARE_SERVER_MICROSECONDS = 40;
const ROOT = join(import.meta.dirname, '../..');

export interface Sample extends Measured {
  readonly engines: Engines;
  readonly side: SideName;
  readonly case: string;
  readonly credential: Credential;
  readonly connections: number;
}

/**
 * Milliseconds of connections that open at once on an idle system and keep sending, and p50 of as
 * many connections afterwards.
 */
export interface BurstSample {
  readonly engines: Engines;
  readonly side: SideName;
  readonly case: string;
  readonly connections: number;
  readonly p50: number;
  readonly p99: number;
  readonly maximum: number;
  readonly steadyP50: number;
  readonly steadyMaximum: number;
}

const { values: options } = parseArgs({
  options: {
    engines: { type: 'string', default: 'embedded,servers' },
    cases: { type: 'string', default: cases.map(({ name }) => name).join(',') },
    credentials: { type: 'string', default: 'bearer,signed' },
    connections: { type: 'string', default: '1,16,64,256' },
    sides: { type: 'string', default: 'before,after,bare,paced,floor' },
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '1' },
    before: { type: 'string', default: BEFORE },
    burst: { type: 'string', default: '128' },
    json: { type: 'string' },
  },
});
const list = (text: string) => text.split(',').filter((each) => each !== '');
const rounds = Number(options.rounds);
const seconds = Number(options.seconds);
const burstConnections = list(options.burst)
  .map(Number)
  .filter((each) => each > 0);
const wanted = list(options.sides) as SideName[];
const chosenCases = cases.filter(({ name }) => list(options.cases).includes(name));
if (wanted.includes('paced') && !wanted.includes('after')) {
  throw new Error('The side "paced" needs the side "after".');
}
const directory = mkdtempSync(join(tmpdir(), 'gatehouse-bench-'));
const samples: Sample[] = [];
const bursts: BurstSample[] = [];

function load(
  side: Side,
  each: Case,
  credential: Credential,
  connections: number,
  duration: number,
) {
  const count = isConstant(each, credential) ? 1 : REQUESTS_PER_SECOND * duration;
  const requests = Array.from({ length: count }, () =>
    createRequest(each, credential, side.tokens),
  );
  const measured = measure({
    url: side.url(),
    requestFile: writeRequests(join(directory, 'requests'), requests),
    connections,
    seconds: duration,
    pids: side.pids(),
  });
  side.truncateLogs?.();
  return measured;
}

/** The apps have just started, and have had one connection so far. */
async function measureBurst(engines: Engines, side: Side, connections: number): Promise<void> {
  const [each] = chosenCases;
  if (side.restart === undefined || each === undefined) {
    return;
  }
  await side.restart();
  load(side, each, 'bearer', 1, 2);
  await sleep(300);
  const first = load(side, each, 'bearer', connections, BURST_SECONDS);
  const steady = load(side, each, 'bearer', connections, BURST_SECONDS);
  bursts.push({
    engines,
    side: side.name,
    case: each.name,
    connections,
    p50: first.p50Milliseconds,
    p99: first.p99Milliseconds,
    maximum: first.maximumMilliseconds,
    steadyP50: steady.p50Milliseconds,
    steadyMaximum: steady.maximumMilliseconds,
  });
}

/** The processor time of the service and its database, less that of a bare server. */
function paceLike(sample: Sample | undefined): number {
  const { 'device service': service = 0, PostgreSQL: database = 0 } = sample?.cpuMicroseconds ?? {};
  return Math.max(0, service + database - BARE_SERVER_MICROSECONDS);
}

async function measureEngines(engines: Engines, earlier: string | undefined): Promise<void> {
  const sides = await startSides({ engines, earlier, directory, wanted });
  for (let round = 0; round < rounds; round += 1) {
    for (const connections of burstConnections) {
      for (const side of sides) {
        await measureBurst(engines, side, connections);
      }
    }
  }
  for (const each of chosenCases) {
    for (const credential of list(options.credentials) as Credential[]) {
      for (const side of sides) {
        load(side, each, credential, 16, 1);
      }
      for (const connections of list(options.connections).map(Number)) {
        for (let round = 0; round < rounds; round += 1) {
          for (const side of sides) {
            side.pace?.(paceLike(samples.findLast((sample) => sample.side === 'after')));
            const measured = load(side, each, credential, connections, seconds);
            const { name } = side;
            samples.push({
              engines,
              side: name,
              case: each.name,
              credential,
              connections,
              ...measured,
            });
          }
        }
      }
      process.stderr.write(`${engines} ${each.name} ${credential}\n`);
    }
  }
  await stopAll();
}

const earlier = wanted.includes('before')
  ? checkOutCommit(options.before, join(directory, 'earlier'))
  : undefined;
try {
  for (const engines of list(options.engines) as Engines[]) {
    await measureEngines(engines, earlier?.directory);
  }
} finally {
  await stopAll();
  earlier?.remove();
  rmSync(directory, { recursive: true, force: true });
}
const git = (...args: readonly string[]) =>
  execFileSync('git', args, { cwd: ROOT, encoding: 'utf8' }).trim();
const about = {
  date: new Date().toISOString(),
  commit: git('rev-parse', '--short', 'HEAD'),
  before: options.before,
  rounds,
  seconds,
  node: process.version,
  processor: `${cpus().length} × ${cpus()[0]?.model}`,
};
if (options.json !== undefined) {
  writeFileSync(options.json, `${JSON.stringify({ about, samples, bursts })}\n`);
}
console.log(JSON.stringify(about));
printSamples(samples);
printBursts(bursts);
process.exit();
