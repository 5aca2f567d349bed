import { illegalArgument } from '@gatehouse/errors';
import { createComparison, type Place } from './comparison.ts';
import { type Condition, combine, group, type Link, MAXIMUM_CONDITION_DEPTH } from './condition.ts';
import type { QuerySubject } from './query.ts';

/** Reads `terms`: an array of terms, each with a comparison, nested terms, or both. */
export function parseTerms(terms: unknown, subject: QuerySubject): Condition | undefined {
  return combine(readLinks(terms, 'terms', 1, subject));
}

function readLinks(
  terms: unknown,
  path: string,
  depth: number,
  subject: QuerySubject,
): readonly Link[] {
  if (terms === undefined || terms === null) {
    return [];
  }
  if (!Array.isArray(terms)) {
    throw argumentError(path, 'must be an array');
  }
  if (depth > MAXIMUM_CONDITION_DEPTH) {
    throw argumentError(path, `is nested deeper than ${MAXIMUM_CONDITION_DEPTH}`);
  }
  // flatMap skips the gaps that the numbering of the GET form can have.
  return terms.flatMap((term, index) => [readTerm(term, `${path}[${index}]`, depth, subject)]);
}

/**
 * A term with both means `(own <type of the first nested> (nested))`, as existing clients expect.
 */
function readTerm(term: unknown, path: string, depth: number, subject: QuerySubject): Link {
  if (typeof term !== 'object' || term === null || Array.isArray(term)) {
    throw argumentError(path, 'must be an object');
  }
  const { column, value, termType, type, options, terms } = term as Record<string, unknown>;
  assertNoOptions(options, path);
  const connector = readConnector(type, path);
  const nested = readLinks(terms, `${path}.terms`, depth + 1, subject);
  const inner = combine(nested);
  const hasOwn = column !== undefined && column !== null;
  if (!hasOwn && inner !== undefined && (value ?? termType ?? undefined) === undefined) {
    return { connector, condition: inner };
  }
  const own = createComparison({ column, value, termType }, subject, placeAt(path));
  const kind = nested[0]?.connector === 'or' ? 'any' : 'all';
  return { connector, condition: group(kind, inner === undefined ? [own] : [own, inner]) ?? own };
}

function readConnector(type: unknown, path: string): Link['connector'] {
  const connector = typeof type === 'string' ? type.toLowerCase() : (type ?? 'and');
  if (connector !== 'and' && connector !== 'or') {
    throw argumentError(`${path}.type`, 'must be and or or');
  }
  return connector;
}

/** No option is supported. Ignoring one could change the meaning. */
function assertNoOptions(options: unknown, path: string): void {
  if (
    options !== undefined &&
    options !== null &&
    (!Array.isArray(options) || options.length > 0)
  ) {
    throw argumentError(`${path}.options`, 'must be empty');
  }
}

function placeAt(path: string): Place {
  return {
    reject: (part, message) => {
      throw argumentError(`${path}.${part}`, message);
    },
  };
}

function argumentError(property: string, message: string) {
  return illegalArgument([{ property, message }]);
}
