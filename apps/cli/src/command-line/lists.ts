/** How list commands filter and limit, by time, organization, text and state. */
import type { Page } from '@gatehouse/operators';
import { type CommandInput, type Options, text, UsageError } from './command.ts';

const MAXIMUM_PAGE = 1000;

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
  'search <text>':
    'Only those with a word in id or name, or an email address, that begins with this text.',
  disabled: 'Only disabled ones.',
  ...limitOption,
};

export function readFilter({ options }: CommandInput) {
  const [search, orgId] = [text(options.search), text(options.org)];
  return { search, orgId, disabled: options.disabled === true };
}

/** The items of all pages, until the limit of the command. */
export async function readPages<Item>(
  input: CommandInput,
  normally: number,
  read: (page: {
    readonly cursor: string | undefined;
    readonly limit: number;
  }) => Promise<Page<Item>>,
): Promise<readonly Item[]> {
  const limit = readLimit(input, normally);
  const items: Item[] = [];
  let cursor: string | undefined;
  do {
    const page = await read({ cursor, limit: Math.min(limit - items.length, MAXIMUM_PAGE) });
    items.push(...page.items);
    cursor = page.next;
  } while (cursor !== undefined && items.length < limit);
  return items;
}
