/** Milliseconds, in any order. */
export function percentile(samples: readonly number[], share: number): number {
  const sorted = [...samples].sort((one, other) => one - other);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

export async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}

export function milliseconds(value: number): string {
  return value.toFixed(value < 10 ? 2 : 1);
}

export function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
