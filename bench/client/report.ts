import { loadavg } from 'node:os';
import { median } from '../machinery/percentile.ts';
import type { Subject } from './subjects.ts';

export interface Measurement {
  readonly calls: number;
  readonly callsPerSecond: number;
  /** The processor time of one call in this process. */
  readonly microseconds: number;
  /** The processor time of all calls in the servers, which the kernel counts in hundredths. */
  readonly serverSeconds: number;
}

/** A list for each subject, with a measurement of each round. */
type Measurements = ReadonlyMap<string, readonly Measurement[]>;

export function printTable(subjects: readonly Subject[], measurements: Measurements): void {
  const [bare = ''] = subjects.map(({ name }) => name);
  const hasSameBytes = subjects.some(({ hasConstantSignature }) => hasConstantSignature);
  const ratios = hasSameBytes ? ['÷ bare', '÷ same bytes'] : ['÷ bare'];
  const columns = ['subject', 'calls/s', ...ratios, 'µs of processor time', ...ratios];
  printRow([...columns, 'µs in the servers']);
  console.log(`|${'---|'.repeat(columns.length + 1)}`);
  for (const { name, sameBytes } of subjects) {
    const references = hasSameBytes ? [bare, sameBytes] : [bare];
    const cells = (['callsPerSecond', 'microseconds'] as const).flatMap((key) => [
      Math.round(median(valuesOf(name, key))),
      ...references.map((reference) => ratio(name, reference, key)),
    ]);
    printRow([
      name,
      ...cells,
      Math.round((sum(name, 'serverSeconds') * 1_000_000) / sum(name, 'calls')),
    ]);
  }
  const loads = loadavg().map((load) => load.toFixed(1));
  console.log(`load average ${loads.join(', ')}`);

  function valuesOf(name: string, key: keyof Measurement): readonly number[] {
    return (measurements.get(name) ?? []).map((each) => each[key]);
  }

  function sum(name: string, key: keyof Measurement): number {
    return valuesOf(name, key).reduce((total, each) => total + each, 0);
  }

  /** The median of the ratios of the rounds. */
  function ratio(name: string, reference: string, key: keyof Measurement): string {
    const references = valuesOf(reference, key);
    const values = valuesOf(name, key);
    return median(values.map((value, index) => value / (references[index] ?? Number.NaN))).toFixed(
      2,
    );
  }
}

function printRow(cells: readonly (string | number)[]): void {
  console.log(`| ${cells.join(' | ')} |`);
}
