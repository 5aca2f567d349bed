/** How list commands filter and limit, by time, organization, text and state. */
import { type CommandInput, type Options, text, UsageError } from './command.ts';

export const limitOption: Options = { 'limit <number>': 'Maximum number of entries.' };

/** @throws UsageError */
export function readLimit({ options }: CommandInput, normally: number): number {
  const limit = text(options.limit);
  if (limit !== undefined && !/^[1-9]\d{0,5}$/.test(limit)) {
    throw new UsageError('--limit must be a number from 1 to 999999.');
  }
  return limit === undefined ? normally : Number(limit);
}

export const sinceOption: Options = {
  'since <time>': 'Entries since a time (2026-11-20T10:00Z) or a duration ago (30m, 12h, 7d).',
};

const unitMilliseconds = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/**
 * Reads a time, or a duration before now, as ISO 8601 in UTC.
 *
 * @throws UsageError
 */
export function readTime(name: 'since' | 'until', { options }: CommandInput): string | undefined {
  const given = text(options[name]);
  if (given === undefined) {
    return undefined;
  }
  const [, count, unit] = /^(\d{1,6})([smhd])$/.exec(given) ?? [];
  const time =
    count === undefined
      ? Date.parse(given)
      : Date.now() - Number(count) * unitMilliseconds[unit as keyof typeof unitMilliseconds];
  if (Number.isNaN(time)) {
    throw new UsageError(
      `--${name} must be a time such as 2026-11-20T10:00Z, or a duration such as 30m.`,
    );
  }
  return new Date(time).toISOString();
}

/** The options of `clients list` and `users list`. */
export const filterOptions: Options = {
  'org <id>': 'Only those of this organization.',
  'search <text>': 'Only those with this text in id, name or email address.',
  disabled: 'Only disabled ones.',
  ...limitOption,
};

/** @param searched the members in which `--search` finds its text */
export function filtered<Item extends { readonly orgId: string; readonly enabled: boolean }>(
  items: readonly Item[],
  input: CommandInput,
  searched: readonly (keyof Item)[],
): readonly Item[] {
  const [orgId, search = ''] = [text(input.options.org), text(input.options.search)?.toLowerCase()];
  return items
    .filter((item) => orgId === undefined || item.orgId === orgId)
    .filter((item) => input.options.disabled !== true || !item.enabled)
    .filter((item) =>
      searched.some((key) =>
        String(item[key] ?? '')
          .toLowerCase()
          .includes(search),
      ),
    )
    .slice(0, readLimit(input, Number.POSITIVE_INFINITY));
}
