import type { Comparison, Operator } from './condition.ts';
import type { QueryColumn, QuerySubject } from './query.ts';

/** Where a comparison stands in the request: `refuse` throws, naming the part of it that is wrong. */
export interface Place {
  refuse(part: 'column' | 'termType' | 'value', message: string): never;
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

const MAX_TEXT_LENGTH = 1024;

/** The operator a term type names, whatever its case. */
export function findOperator(termType: string): Operator | undefined {
  const name = termType.toLowerCase();
  return Object.hasOwn(operators, name) ? operators[name] : undefined;
}

export function takesNoValue(operator: Operator): boolean {
  return valueless.has(operator);
}

/** Checks what was written against what can be asked. Nothing is ever left out: that would find more. */
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
      // Empty is no text, and for a time, as everywhere in the platform, 0.
      return column.kind === 'integer' ? [0] : [''];
    }
    if (written.value === undefined || written.value === null) {
      place.refuse('value', 'is required');
    }
    const isList = operator === 'in' || operator === 'nin';
    const isRange = operator === 'btw' || operator === 'nbtw';
    const raw = isList || isRange ? toList(written.value) : [written.value];
    if (raw.length === 0 || (isRange && raw.length !== 2)) {
      place.refuse('value', isRange ? 'must be two values' : 'must be at least one value');
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
    place.refuse('column', 'is required');
  }
  const [name = '', ...types] = column.split('$');
  if (types.length > 1) {
    place.refuse('column', 'has more than one "$"');
  }
  return [name, types[0]];
}

function findColumn(name: string, subject: QuerySubject, place: Place): QueryColumn {
  const column = Object.hasOwn(subject.columns, name) ? subject.columns[name] : undefined;
  return (
    column ??
    place.refuse('column', `must be one of ${Object.keys(subject.columns).sort().join(', ')}`)
  );
}

function readOperator(termType: unknown, embedded: string | undefined, place: Place): Operator {
  if (termType !== undefined && termType !== null && typeof termType !== 'string') {
    place.refuse('termType', 'must be a string');
  }
  const part = embedded === undefined ? 'termType' : 'column';
  const operator = findOperator(embedded ?? termType ?? 'eq');
  if (operator === undefined) {
    place.refuse(part, `has an unknown term type: use ${Object.keys(operators).join(', ')}`);
  }
  if (embedded !== undefined && typeof termType === 'string') {
    if (findOperator(termType) !== operator) {
      place.refuse('termType', 'contradicts the one in the column');
    }
  }
  return operator;
}

function assertSuits(operator: Operator, column: QueryColumn, place: Place): void {
  if ((operator === 'like' || operator === 'nlike') && column.kind !== 'text') {
    place.refuse('termType', 'needs a column of texts');
  }
  if (ordering.has(operator) && column.kind === 'enum') {
    place.refuse('termType', 'needs a column that has an order');
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
      return readInteger(value) ?? place.refuse('value', 'must be an integer');
    case 'enum': {
      // As replies show it: {text, value}.
      const plain =
        typeof value === 'object' && value !== null && 'value' in value ? value.value : value;
      return typeof plain === 'string' && column.values.includes(plain)
        ? plain
        : place.refuse('value', `must be one of ${column.values.join(', ')}`);
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
    place.refuse('value', 'must be a string');
  }
  if (text.length > MAX_TEXT_LENGTH) {
    place.refuse('value', `must have at most ${MAX_TEXT_LENGTH} characters`);
  }
  // PostgreSQL has no NUL in a text, and no half characters.
  if (text.includes('\0') || !text.isWellFormed()) {
    place.refuse('value', 'must not contain NUL or broken Unicode');
  }
  return text;
}

/** `%` is any text, `_` one character, `\` takes the meaning from what follows it. */
function assertPattern(pattern: string, place: Place): void {
  if (/^(?:[^\\]|\\.)*\\$/s.test(pattern)) {
    place.refuse('value', 'must not end with a single "\\"');
  }
}
