import { parseMetrics, until } from '@gatehouse/testing';
import type { WorkerApp } from './run-worker-app.ts';

/** A test starts several processes, which takes long on a busy machine. */
export const SECONDS = 60;

export const untilSlow = (attempt: () => unknown) => until(attempt, SECONDS);

export async function readyState(app: WorkerApp): Promise<string> {
  const { status, text } = await app.operations('/ready');
  return `${status} ${JSON.parse(text).checks?.workers ?? JSON.parse(text).status}`;
}

export async function sampleOf(app: WorkerApp, name: string): Promise<number> {
  const families = parseMetrics((await app.operations('/metrics')).text);
  const samples = [...families.values()].flatMap((family) => family.samples);
  return samples
    .filter((sample) => sample.name === name)
    .reduce((sum, { value }) => sum + value, 0);
}

/** Sends requests until every worker has answered one. */
export async function everyWorkerAnswers(app: WorkerApp): Promise<void> {
  const seen = new Set<number>();
  await untilSlow(async () => {
    const replies = await Promise.all(Array.from({ length: 20 }, () => app.get('/')));
    for (const reply of replies) {
      seen.add(Number.parseInt(reply, 10));
    }
    return app.workers().every((pid) => seen.has(pid));
  });
}

/** Sends requests on new connections, some at a time, until it is stopped. */
export function load(app: WorkerApp, path = '/') {
  let stopped = false;
  const outcomes: string[] = [];
  const sending = Array.from({ length: 4 }, async () => {
    while (!stopped) {
      outcomes.push(await app.get(path));
    }
  });
  return {
    outcomes,
    async stop(): Promise<readonly string[]> {
      stopped = true;
      await Promise.all(sending);
      return outcomes.filter((outcome) => !outcome.endsWith('127.0.0.1'));
    },
  };
}
