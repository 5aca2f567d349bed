import { termTypes } from '@gatehouse/device-api';
import { type ApiError, illegalArgument } from '@gatehouse/errors';
import { z } from 'zod';
import { parsePayload } from '../input.ts';
import type { QueryColumn, QueryColumns } from './query.ts';

export type Operator = (typeof termTypes)[number];

export interface Comparison {
  readonly kind: 'comparison';
  readonly column: string;
  readonly operator: Operator;
  readonly values: readonly (string | number)[];
}

interface Group {
  readonly kind: 'all' | 'any';
  readonly of: readonly Condition[];
}

/** The syntax tree of a filter, whatever its form was. */
export type Condition = Comparison | Group;

/** A condition, and how it connects to the previous one. */
export interface Link {
  readonly connector: 'and' | 'or';
  readonly condition: Condition;
}

export const MAXIMUM_CONDITION_DEPTH = 8;
const MAXIMUM_COMPARISONS = 100;
const MAXIMUM_VALUES = 2000;

/**
 * `a and b or c` is `(a and b) or c`, as in SQL. The connector of the first condition is ignored.
 */
export function combine(links: readonly Link[]): Condition | undefined {
  const alternatives: Condition[][] = [];
  for (const { connector, condition } of links) {
    const last = alternatives.at(-1);
    if (last === undefined || connector === 'or') {
      alternatives.push([condition]);
    } else {
      last.push(condition);
    }
  }
  const of = alternatives.map(all);
  return of.length > 1 ? { kind: 'any', of } : of[0];
}

function all(of: readonly Condition[]): Condition {
  const [only] = of;
  return only !== undefined && of.length === 1 ? only : { kind: 'all', of };
}

/** @throws ApiError `illegal_argument` for too many terms or values */
export function assertBounded(condition: Condition, property: string): void {
  const comparisons = comparisonsOf(condition);
  if (comparisons.length > MAXIMUM_COMPARISONS) {
    throw queryError(property, `has more than ${MAXIMUM_COMPARISONS} terms`);
  }
  if (comparisons.flatMap(({ values }) => values).length > MAXIMUM_VALUES) {
    throw queryError(property, `has more than ${MAXIMUM_VALUES} values`);
  }
}

export function comparisonsOf(condition: Condition): readonly Comparison[] {
  return condition.kind === 'comparison' ? [condition] : condition.of.flatMap(comparisonsOf);
}

export function queryError(property: string, message: string): ApiError {
  return illegalArgument([{ property, message }]);
}

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
export function readTerms(
  terms: unknown,
  columns: QueryColumns,
  path = 'terms',
  depth = 1,
): readonly Link[] {
  if (depth > MAXIMUM_CONDITION_DEPTH) {
    throw queryError(path, `is nested deeper than ${MAXIMUM_CONDITION_DEPTH}`);
  }
  const written = parsePayload(termList, terms, path) ?? [];
  return written.flatMap((each, index) =>
    each === undefined ? [] : [readTerm(each, columns, `${path}[${index}]`, depth)],
  );
}

/**
 * A term with both means `(own <type of the first nested> (nested))`, as existing clients expect.
 */
function readTerm(
  { column, value, termType, type, terms }: z.infer<typeof term>,
  columns: QueryColumns,
  path: string,
  depth: number,
): Link {
  const connector = type ?? 'and';
  const nested =
    (terms ?? undefined) === undefined ? [] : readTerms(terms, columns, `${path}.terms`, depth + 1);
  const inner = combine(nested);
  const hasOwn = (column ?? value ?? termType ?? undefined) !== undefined;
  if (!hasOwn && inner !== undefined) {
    return { connector, condition: inner };
  }
  const own = createComparison({ column, value, termType }, columns, (part, rule) => {
    throw queryError(`${path}.${part}`, rule);
  });
  if (inner === undefined) {
    return { connector, condition: own };
  }
  const kind = nested[0]?.connector === 'or' ? 'any' : 'all';
  return { connector, condition: { kind, of: [own, inner] } };
}

interface WrittenComparison {
  /** May embed the type: `createTime$btw`. */
  readonly column: string | null | undefined;
  readonly termType: string | null | undefined;
  readonly value: unknown;
}

/** Throws an error that names the invalid part, at its position in the request. */
type Reject = (part: 'column' | 'termType' | 'value', rule: string) => never;

/** By the term types in lower case. Requests may write them in any case. */
export const operators: ReadonlyMap<string, Operator> = new Map<string, Operator>([
  ...termTypes.map((termType) => [termType, termType] as const),
  ['is', 'eq'],
  ['neq', 'not'],
  ['notempty', 'nempty'],
]);

/** Operators that take no value. */
export const valueless: ReadonlySet<Operator | undefined> = new Set([
  'empty',
  'nempty',
  'isnull',
  'notnull',
] as const);
const ordering: ReadonlySet<Operator> = new Set(['gt', 'gte', 'lt', 'lte', 'btw', 'nbtw']);

const MAXIMUM_TEXT_LENGTH = 1024;

/**
 * Checks a comparison. An unknown part is an error, because ignoring it would return more records.
 */
export function createComparison(
  { column: reference, termType, value }: WrittenComparison,
  columns: QueryColumns,
  reject: Reject,
): Comparison {
  const [name = '', embedded, ...more] = (reference ?? '').split('$');
  if (name === '' || more.length > 0) {
    reject('column', name === '' ? 'is required' : 'has more than one "$"');
  }
  const column = Object.hasOwn(columns, name) ? columns[name] : undefined;
  if (column === undefined) {
    return reject('column', `must be one of ${Object.keys(columns).sort().join(', ')}`);
  }
  const operator = operators.get((embedded ?? termType ?? 'eq').toLowerCase());
  if (operator === undefined) {
    const part = embedded === undefined ? 'termType' : 'column';
    return reject(part, `has an unknown term type: use one of ${[...operators.keys()].join(', ')}`);
  }
  if (embedded !== undefined && termType && operators.get(termType.toLowerCase()) !== operator) {
    reject('termType', 'contradicts the one in the column');
  }
  if ((operator === 'like' || operator === 'nlike') && column.kind !== 'text') {
    reject('termType', 'requires a text column');
  }
  if (ordering.has(operator) && column.kind === 'enum') {
    reject('termType', 'requires a text or integer column');
  }
  const values = readValues(value, operator, column, reject);
  return { kind: 'comparison', column: name, operator, values };
}

function readValues(
  value: unknown,
  operator: Operator,
  column: QueryColumn,
  reject: Reject,
): readonly (string | number)[] {
  if (valueless.has(operator)) {
    // Empty means the empty string, or 0 for a time.
    return column.kind === 'integer' ? [0] : [''];
  }
  if (value === undefined || value === null) {
    reject('value', 'is required');
  }
  const isRange = operator === 'btw' || operator === 'nbtw';
  const isList = isRange || operator === 'in' || operator === 'nin';
  const raw = isList ? toList(value) : [value];
  if (raw.length === 0 || (isRange && raw.length !== 2)) {
    reject('value', isRange ? 'must be two values' : 'must be at least one value');
  }
  const values = raw.map((each) => readValue(each, column, reject));
  // `%` matches any text and `_` one character. `\\` escapes the next character.
  const isPattern = operator === 'like' || operator === 'nlike';
  if (isPattern && /^(?:[^\\]|\\.)*\\$/s.test(String(values[0]))) {
    reject('value', 'must not end with a single "\\"');
  }
  return values;
}

/** An array, or `1,2,3`. */
function toList(value: unknown): readonly unknown[] {
  if (typeof value === 'string') {
    return value.split(',').map((part) => part.trim());
  }
  return Array.isArray(value) ? value : [value];
}

function readValue(value: unknown, column: QueryColumn, reject: Reject): string | number {
  switch (column.kind) {
    case 'integer': {
      const isDigits = typeof value === 'string' && /^-?\d{1,16}$/.test(value.trim());
      const number = isDigits ? Number(value) : value;
      return Number.isSafeInteger(number)
        ? (number as number)
        : reject('value', 'must be an integer');
    }
    case 'enum': {
      // Replies show it as {text, value}.
      const plain =
        typeof value === 'object' && value !== null && 'value' in value ? value.value : value;
      const known = Object.keys(column.labels ?? {});
      return typeof plain === 'string' && known.includes(plain)
        ? plain
        : reject('value', `must be one of ${known.join(', ')}`);
    }
    case 'text': {
      const text = typeof value === 'number' ? String(value) : value;
      // PostgreSQL rejects NUL and lone surrogates.
      return typeof text === 'string' &&
        text.length <= MAXIMUM_TEXT_LENGTH &&
        !text.includes('\0') &&
        text.isWellFormed()
        ? text
        : reject(
            'value',
            `must be a string of at most ${MAXIMUM_TEXT_LENGTH} characters, without NUL or broken Unicode`,
          );
    }
  }
}
