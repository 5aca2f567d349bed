import type { Comparison, Operator } from './condition.ts';
import type { QueryColumn, QuerySubject } from './query.ts';

/**
 * The position of a comparison in the request. `reject` throws an error that names the invalid
 * part.
 */
export interface Place {
  reject(part: 'column' | 'termType' | 'value', message: string): never;
}

export interface WrittenComparison {
  /** May embed the type: `createTime$btw`. */
  readonly column: unknown;
  readonly termType: unknown;
  readonly value: unknown;
}

const operators: Readonly<Record<string, Operator>> = {
  eq: 'eq',
  is: 'eq',
  not: 'not',
  neq: 'not',
  gt: 'gt',
  gte: 'gte',
  lt: 'lt',
  lte: 'lte',
  like: 'like',
  nlike: 'nlike',
  in: 'in',
  nin: 'nin',
  btw: 'btw',
  nbtw: 'nbtw',
  empty: 'empty',
  nempty: 'nempty',
  notempty: 'nempty',
  isnull: 'isnull',
  notnull: 'notnull',
};

const valueless: ReadonlySet<Operator> = new Set(['empty', 'nempty', 'isnull', 'notnull']);
const ordering: ReadonlySet<Operator> = new Set(['gt', 'gte', 'lt', 'lte', 'btw', 'nbtw']);

const MAXIMUM_TEXT_LENGTH = 1024;

/** Ignores case. */
export function findOperator(termType: string): Operator | undefined {
  const name = termType.toLowerCase();
  return Object.hasOwn(operators, name) ? operators[name] : undefined;
}

export function takesNoValue(operator: Operator): boolean {
  return valueless.has(operator);
}

/**
 * Checks a comparison. An unknown part is an error, because ignoring it would return more records.
 */
export function createComparison(
  written: WrittenComparison,
  subject: QuerySubject,
  place: Place,
): Comparison {
  const [name, embedded] = splitColumn(written.column, place);
  const column = findColumn(name, subject, place);
  const operator = readOperator(written.termType, embedded, place);
  assertSuits(operator, column, place);
  return { kind: 'comparison', column: name, operator, values: readValues() };

  function readValues(): readonly (string | number)[] {
    if (takesNoValue(operator)) {
      // Empty means the empty string, or 0 for a time.
      return column.kind === 'integer' ? [0] : [''];
    }
    if (written.value === undefined || written.value === null) {
      place.reject('value', 'is required');
    }
    const isList = operator === 'in' || operator === 'nin';
    const isRange = operator === 'btw' || operator === 'nbtw';
    const raw = isList || isRange ? toList(written.value) : [written.value];
    if (raw.length === 0 || (isRange && raw.length !== 2)) {
      place.reject('value', isRange ? 'must be two values' : 'must be at least one value');
    }
    const values = raw.map((value) => readValue(value, column, place));
    if (operator === 'like' || operator === 'nlike') {
      assertPattern(String(values[0]), place);
    }
    return values;
  }
}

function splitColumn(column: unknown, place: Place): readonly [string, string | undefined] {
  if (typeof column !== 'string' || column === '') {
    place.reject('column', 'is required');
  }
  const [name = '', ...types] = column.split('$');
  if (types.length > 1) {
    place.reject('column', 'has more than one "$"');
  }
  return [name, types[0]];
}

function findColumn(name: string, subject: QuerySubject, place: Place): QueryColumn {
  const column = Object.hasOwn(subject.columns, name) ? subject.columns[name] : undefined;
  return (
    column ??
    place.reject('column', `must be one of ${Object.keys(subject.columns).sort().join(', ')}`)
  );
}

function readOperator(termType: unknown, embedded: string | undefined, place: Place): Operator {
  if (termType !== undefined && termType !== null && typeof termType !== 'string') {
    place.reject('termType', 'must be a string');
  }
  const part = embedded === undefined ? 'termType' : 'column';
  const operator = findOperator(embedded ?? termType ?? 'eq');
  if (operator === undefined) {
    place.reject(part, `has an unknown term type: use one of ${Object.keys(operators).join(', ')}`);
  }
  if (embedded !== undefined && typeof termType === 'string') {
    if (findOperator(termType) !== operator) {
      place.reject('termType', 'contradicts the one in the column');
    }
  }
  return operator;
}

function assertSuits(operator: Operator, column: QueryColumn, place: Place): void {
  if ((operator === 'like' || operator === 'nlike') && column.kind !== 'text') {
    place.reject('termType', 'requires a text column');
  }
  if (ordering.has(operator) && column.kind === 'enum') {
    place.reject('termType', 'requires a text or integer column');
  }
}

/** An array, or `1,2,3`. */
function toList(value: unknown): readonly unknown[] {
  if (typeof value === 'string') {
    return value.split(',').map((part) => part.trim());
  }
  return Array.isArray(value) ? value : [value];
}

function readValue(value: unknown, column: QueryColumn, place: Place): string | number {
  switch (column.kind) {
    case 'integer':
      return readInteger(value) ?? place.reject('value', 'must be an integer');
    case 'enum': {
      // Replies show it as {text, value}.
      const plain =
        typeof value === 'object' && value !== null && 'value' in value ? value.value : value;
      return typeof plain === 'string' && column.values.includes(plain)
        ? plain
        : place.reject('value', `must be one of ${column.values.join(', ')}`);
    }
    case 'text':
      return readText(value, place);
  }
}

function readInteger(value: unknown): number | undefined {
  const number =
    typeof value === 'string' && /^-?\d{1,16}$/.test(value.trim()) ? Number(value) : value;
  return Number.isSafeInteger(number) ? (number as number) : undefined;
}

function readText(value: unknown, place: Place): string {
  const text = typeof value === 'number' ? String(value) : value;
  if (typeof text !== 'string') {
    place.reject('value', 'must be a string');
  }
  if (text.length > MAXIMUM_TEXT_LENGTH) {
    place.reject('value', `must have at most ${MAXIMUM_TEXT_LENGTH} characters`);
  }
  // PostgreSQL rejects NUL and lone surrogates.
  if (text.includes('\0') || !text.isWellFormed()) {
    place.reject('value', 'must not contain NUL or broken Unicode');
  }
  return text;
}

/** `%` matches any text and `_` one character. `\` escapes the next character. */
function assertPattern(pattern: string, place: Place): void {
  if (/^(?:[^\\]|\\.)*\\$/s.test(pattern)) {
    place.reject('value', 'must not end with a single "\\"');
  }
}
