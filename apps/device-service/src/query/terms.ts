import { z } from 'zod';
import type { QueryColumns } from './columns.ts';
import { createComparison } from './comparison.ts';
import {
  type Condition,
  check,
  combine,
  group,
  type Link,
  MAXIMUM_CONDITION_DEPTH,
  queryError,
} from './condition.ts';

const term = z.object(
  {
    column: z.string('must be a string').nullish(),
    termType: z.string('must be a string').nullish(),
    value: z.unknown().optional(),
    type: z
      .preprocess(
        (value) => (typeof value === 'string' ? value.toLowerCase() : value),
        z.enum(['and', 'or'], 'must be and or or'),
      )
      .nullish(),
    // No option is supported. Ignoring one could change the meaning.
    options: z.array(z.unknown(), 'must be empty').max(0, 'must be empty').nullish(),
    // Checked one level after the other, so that the depth is limited.
    terms: z.unknown().optional(),
  },
  'must be an object',
);

/** The numbering of the GET form can have gaps. */
const termList = z.array(term.optional(), 'must be an array').nullish();

/** Reads `terms`: an array of terms, each with a comparison, nested terms, or both. */
export function parseTerms(terms: unknown, columns: QueryColumns): Condition | undefined {
  return combine(readLinks(terms, 'terms', 1, columns));
}

function readLinks(
  terms: unknown,
  path: string,
  depth: number,
  columns: QueryColumns,
): readonly Link[] {
  if (depth > MAXIMUM_CONDITION_DEPTH) {
    throw queryError(path, `is nested deeper than ${MAXIMUM_CONDITION_DEPTH}`);
  }
  const written = check(termList, terms, path) ?? [];
  return written.flatMap((each, index) =>
    each === undefined ? [] : [readTerm(each, `${path}[${index}]`, depth, columns)],
  );
}

/**
 * A term with both means `(own <type of the first nested> (nested))`, as existing clients expect.
 */
function readTerm(
  { column, value, termType, type, terms }: z.infer<typeof term>,
  path: string,
  depth: number,
  columns: QueryColumns,
): Link {
  const connector = type ?? 'and';
  const nested =
    (terms ?? undefined) === undefined ? [] : readLinks(terms, `${path}.terms`, depth + 1, columns);
  const inner = combine(nested);
  const hasOwn = (column ?? value ?? termType ?? undefined) !== undefined;
  if (!hasOwn && inner !== undefined) {
    return { connector, condition: inner };
  }
  const own = createComparison({ column, value, termType }, columns, (part, rule) => {
    throw queryError(`${path}.${part}`, rule);
  });
  const kind = nested[0]?.connector === 'or' ? 'any' : 'all';
  return { connector, condition: group(kind, inner === undefined ? [own] : [own, inner]) ?? own };
}
