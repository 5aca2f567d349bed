import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { openEventCounter } from './processor-events.ts';
import { processorSeconds } from './processor-time.ts';

export interface Load {
  readonly url: string;
  /** By writeRequests. */
  readonly requestFile: string;
  readonly connections: number;
  readonly seconds: number;
  /** The core of wrk. Undefined: any. */
  readonly core?: number | undefined;
  /** The processes whose time counts, by name. */
  readonly pids: Readonly<Record<string, readonly number[]>>;
  /** The events to count, from `availableEvents`. */
  readonly events?: readonly string[];
  /** The share of replies that may be neither 2xx nor 3xx. */
  readonly refusedShare?: number;
}

export interface Measured {
  readonly requests: number;
  readonly requestsPerSecond: number;
  /** Processor time per request, by the names of the load. */
  readonly cpuMicroseconds: Readonly<Record<string, number>>;
  /** Events of all processes per request. */
  readonly events: Readonly<Record<string, number>>;
  readonly p50Milliseconds: number;
  readonly p99Milliseconds: number;
  /** Includes the opening of the connections. */
  readonly maximumMilliseconds: number;
  /** Replies other than 2xx and 3xx. */
  readonly refused: number;
}

const REQUEST_TIMEOUT_SECONDS = 20;

/**
 * Sends requests with wrk, and measures the processor time of other processes.
 *
 * @throws Error if too many requests fail
 */
export function measure(load: Load): Measured {
  const {
    url,
    requestFile,
    connections,
    seconds,
    core,
    pids,
    events = [],
    refusedShare = 0.01,
  } = load;
  const before = timesOf(pids);
  const script = join(import.meta.dirname, 'requests.lua');
  const times = [`-d${seconds}s`, `--timeout=${REQUEST_TIMEOUT_SECONDS}s`];
  const wrk = ['wrk', '-t1', `-c${connections}`, ...times, '-s', script, url, '--', requestFile];
  const counter =
    events.length > 0
      ? openEventCounter(events, Object.values(pids).flat(), `${requestFile}-events`)
      : undefined;
  const [program = '', ...args] = [
    ...(core === undefined ? [] : ['taskset', '-c', String(core)]),
    ...(counter?.command ?? []),
    ...wrk,
  ];
  const output = execFileSync(program, args, { encoding: 'utf8' });
  const after = timesOf(pids);
  const result = JSON.parse(output.slice(output.lastIndexOf('{')));
  // On a busy machine, a few store commands may miss their deadline. More than that invalidates the
  // measurement.
  if (result.refused > result.requests * refusedShare || result.failed > 0) {
    throw new Error(output);
  }
  const cpuMicroseconds = Object.fromEntries(
    Object.entries(after).map(([name, time]) => [
      name,
      ((time - (before[name] ?? 0)) * 1e6) / result.requests,
    ]),
  );
  const counts = Object.entries(counter?.read() ?? {});
  return {
    requests: result.requests,
    requestsPerSecond: (result.requests * 1e6) / result.microseconds,
    cpuMicroseconds,
    events: Object.fromEntries(counts.map(([event, count]) => [event, count / result.requests])),
    p50Milliseconds: result.p50 / 1000,
    p99Milliseconds: result.p99 / 1000,
    maximumMilliseconds: result.maximum / 1000,
    refused: result.refused,
  };
}

function timesOf(pids: Load['pids']): Readonly<Record<string, number>> {
  return Object.fromEntries(
    Object.entries(pids).map(([name, each]) => [name, processorSeconds(each)]),
  );
}
