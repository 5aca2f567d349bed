import type { Constellation } from '@gatehouse/testing';
import { until } from '@gatehouse/testing';

/** The line of a request in the log of the authorization server. */
export interface FailureLine {
  readonly requestId: string;
  readonly status?: number;
  readonly operation?: string;
  readonly clientId?: string;
  readonly code?: string;
  readonly reason?: string;
  readonly finding?: string;
}

/** Every line of a request so far, in the order of the log. */
function requestLines(system: Constellation): readonly FailureLine[] {
  return system.processes
    .flatMap((each) => each.output().split('\n'))
    .filter((line) => line.startsWith('{') && line.includes('"requestId"'))
    .map((line) => JSON.parse(line) as FailureLine);
}

/** The lines of the requests with these ids, once all are written. */
export async function linesOf(
  system: Constellation,
  ids: readonly (string | null)[],
): Promise<readonly (FailureLine | undefined)[]> {
  let found: readonly (FailureLine | undefined)[] = [];
  await until(() => {
    const lines = requestLines(system);
    found = ids.map((id) => lines.find(({ requestId }) => requestId === id));
    return found.every((line) => line !== undefined);
  });
  return found;
}
