import { illegalArgument } from '@gatehouse/errors';
import type { QuerySubject, Sort } from './query.ts';

const MAXIMUM_SORTS = 8;

/**
 * Reads `sorts:[{name,order}]` and `orderBy:"a asc,b desc"`; if both are present, `orderBy` comes
 * second.
 */
export function parseSorts(
  { sorts, orderBy }: { readonly sorts?: unknown; readonly orderBy?: unknown },
  subject: QuerySubject,
): readonly Sort[] {
  const all = [...readSorts(sorts, subject), ...readOrderBy(orderBy, subject)];
  if (all.length > MAXIMUM_SORTS) {
    throw argumentError(
      orderBy === undefined ? 'sorts' : 'orderBy',
      `has more than ${MAXIMUM_SORTS} columns`,
    );
  }
  return all;
}

function readSorts(sorts: unknown, subject: QuerySubject): readonly Sort[] {
  if (sorts === undefined || sorts === null) {
    return [];
  }
  if (!Array.isArray(sorts)) {
    throw argumentError('sorts', 'must be an array');
  }
  return sorts.flatMap((sort: unknown, index) => {
    const path = `sorts[${index}]`;
    if (typeof sort !== 'object' || sort === null) {
      throw argumentError(path, 'must be an object');
    }
    const { name, order } = sort as { readonly name?: unknown; readonly order?: unknown };
    return {
      column: readColumn(name, subject, `${path}.name`, ''),
      descending: isDescending(order, `${path}.order`, ''),
    };
  });
}

function readOrderBy(orderBy: unknown, subject: QuerySubject): readonly Sort[] {
  if (orderBy === undefined || orderBy === null || orderBy === '') {
    return [];
  }
  if (typeof orderBy !== 'string') {
    throw argumentError('orderBy', 'must be a string');
  }
  let position = 1;
  return orderBy.split(',').map((part) => {
    const at = `at character ${position + part.length - part.trimStart().length}: `;
    position += part.length + 1;
    const [name, order, ...rest] = part.trim().split(/\s+/);
    if (rest.length > 0) {
      throw argumentError('orderBy', `${at}expected a column and asc or desc`);
    }
    return {
      column: readColumn(name, subject, 'orderBy', at),
      descending: isDescending(order, 'orderBy', at),
    };
  });
}

function readColumn(name: unknown, subject: QuerySubject, property: string, at: string): string {
  if (typeof name !== 'string' || !Object.hasOwn(subject.columns, name)) {
    const known = Object.keys(subject.columns).sort().join(', ');
    throw argumentError(property, `${at}the column must be one of ${known}`);
  }
  return name;
}

function isDescending(order: unknown, property: string, at: string): boolean {
  const word = typeof order === 'string' ? order.toLowerCase() : (order ?? 'asc');
  if (word !== 'asc' && word !== 'desc') {
    throw argumentError(property, `${at}the order must be asc or desc`);
  }
  return word === 'desc';
}

function argumentError(property: string, message: string) {
  return illegalArgument([{ property, message }]);
}
