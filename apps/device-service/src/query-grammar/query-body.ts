import { type IllegalArgument, illegalArgument } from '@gatehouse/errors';
import { assertBounded, group } from './condition.ts';
import { MAXIMUM_PAGE_SIZE, type Query, type QuerySubject } from './query.ts';
import { parseSorts } from './sorts.ts';
import { parseTerms } from './terms.ts';
import { parseWhere } from './where-text.ts';

const DEFAULT_PAGE_SIZE = 25;

/**
 * Reads a query in its JSON form. Ignores unknown members and rejects invalid ones.
 *
 * @throws ApiError `illegal_argument` that names the invalid member
 */
export function parseQueryBody(body: unknown, subject: QuerySubject): Query {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw illegalArgument([{ property: 'body', message: 'must be a JSON object' }]);
  }
  const written = body as Readonly<Record<string, unknown>>;
  return {
    ...readPaging(written),
    condition: readCondition(written, subject),
    sorts: parseSorts(written, subject),
    fields: readFields(written, subject),
  };
}

function readPaging(written: Readonly<Record<string, unknown>>) {
  const problems: IllegalArgument[] = [];
  const read = <Fallback>(property: string, fallback: Fallback, minimum: number) => {
    const value = written[property] ?? undefined;
    const number = typeof value === 'string' ? parseDigits(value) : value;
    if (value === undefined) {
      return fallback;
    }
    if (!Number.isSafeInteger(number) || (number as number) < minimum) {
      problems.push({ property, message: `must be an integer, ${minimum} or more` });
      return fallback;
    }
    return number as number;
  };
  const firstPageIndex = read('firstPageIndex', 0, 0);
  const pageIndex = read('pageIndex', firstPageIndex, firstPageIndex);
  const pageSize = Math.min(read('pageSize', DEFAULT_PAGE_SIZE, 1), MAXIMUM_PAGE_SIZE);
  const knownTotal = read('total', undefined, 0);
  const paging = written.paging ?? true;
  if (typeof paging !== 'boolean') {
    problems.push({ property: 'paging', message: 'must be true or false' });
  }
  if (problems.length > 0) {
    throw illegalArgument(problems);
  }
  const offset = (pageIndex - firstPageIndex) * pageSize;
  return { pageIndex, pageSize, offset, paging: paging !== false, knownTotal };
}

/** Only decimal digits, because readers disagree about `1e3`, `0x10` and ` 5`. */
function parseDigits(text: string): number | undefined {
  return /^\d{1,16}$/.test(text) ? Number(text) : undefined;
}

/** If both are present, `terms` and `where` must both match. */
function readCondition(written: Readonly<Record<string, unknown>>, subject: QuerySubject) {
  const terms = parseTerms(written.terms, subject);
  const where = parseWhere(written.where, subject);
  const condition = group(
    'all',
    [terms, where].flatMap((each) => each ?? []),
  );
  if (condition !== undefined) {
    assertBounded(condition, terms === undefined ? 'where' : 'terms');
  }
  return condition;
}

function readFields(
  written: Readonly<Record<string, unknown>>,
  subject: QuerySubject,
): ReadonlySet<string> | undefined {
  const includes = readNames('includes');
  const excludes = new Set(readNames('excludes'));
  return includes.length === 0 && excludes.size === 0
    ? undefined
    : new Set((includes.length === 0 ? subject.fields : includes).filter((f) => !excludes.has(f)));

  function readNames(property: string): readonly string[] {
    const value = written[property] ?? [];
    const names = typeof value === 'string' ? value.split(',').map((name) => name.trim()) : value;
    if (!Array.isArray(names)) {
      throw illegalArgument([{ property, message: 'must be an array of field names' }]);
    }
    const unknownAt = names.findIndex((name) => !subject.fields.includes(name));
    if (unknownAt >= 0) {
      const message = `must be one of ${[...subject.fields].sort().join(', ')}`;
      throw illegalArgument([{ property: `${property}[${unknownAt}]`, message }]);
    }
    return names;
  }
}
