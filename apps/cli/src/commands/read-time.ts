import { UsageError } from '../command-line/command.ts';

const unitMilliseconds = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/**
 * Reads a time, or a duration before now, as ISO 8601 in UTC.
 *
 * @throws UsageError
 */
export function readTime(
  option: string,
  given: string | undefined,
  now: number,
): string | undefined {
  if (given === undefined) {
    return undefined;
  }
  const [, count, unit] = /^(\d{1,6})([smhd])$/.exec(given) ?? [];
  const time =
    count === undefined
      ? Date.parse(given)
      : now - Number(count) * unitMilliseconds[unit as keyof typeof unitMilliseconds];
  if (Number.isNaN(time)) {
    throw new UsageError(
      `--${option} must be a time such as 2026-11-20T10:00Z, or a duration such as 30m.`,
    );
  }
  return new Date(time).toISOString();
}
