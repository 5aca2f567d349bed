import { termTypes } from '@gatehouse/device-api';
import type { QueryColumn, QueryColumns } from './columns.ts';
import type { Comparison, Operator } from './condition.ts';

export interface WrittenComparison {
  /** May embed the type: `createTime$btw`. */
  readonly column: string | null | undefined;
  readonly termType: string | null | undefined;
  readonly value: unknown;
}

/** Throws an error that names the invalid part, at its position in the request. */
type Reject = (part: 'column' | 'termType' | 'value', rule: string) => never;

const operators: ReadonlyMap<string, Operator> = new Map<string, Operator>([
  ...termTypes.map((termType) => [termType, termType] as const),
  ['is', 'eq'],
  ['neq', 'not'],
  ['notempty', 'nempty'],
]);

const valueless: ReadonlySet<Operator> = new Set(['empty', 'nempty', 'isnull', 'notnull']);
const ordering: ReadonlySet<Operator> = new Set(['gt', 'gte', 'lt', 'lte', 'btw', 'nbtw']);

const MAXIMUM_TEXT_LENGTH = 1024;

/** Ignores case. */
export function findOperator(termType: string): Operator | undefined {
  return operators.get(termType.toLowerCase());
}

export function takesNoValue(operator: Operator): boolean {
  return valueless.has(operator);
}

/**
 * Checks a comparison. An unknown part is an error, because ignoring it would return more records.
 */
export function createComparison(
  written: WrittenComparison,
  columns: QueryColumns,
  reject: Reject,
): Comparison {
  const [name = '', embedded, ...more] = (written.column ?? '').split('$');
  if (name === '' || more.length > 0) {
    reject('column', name === '' ? 'is required' : 'has more than one "$"');
  }
  const column = Object.hasOwn(columns, name) ? columns[name] : undefined;
  if (column === undefined) {
    return reject('column', `must be one of ${Object.keys(columns).sort().join(', ')}`);
  }
  const operator = readOperator(written.termType, embedded, reject);
  if ((operator === 'like' || operator === 'nlike') && column.kind !== 'text') {
    reject('termType', 'requires a text column');
  }
  if (ordering.has(operator) && column.kind === 'enum') {
    reject('termType', 'requires a text or integer column');
  }
  const values = readValues(written.value, operator, column, reject);
  return { kind: 'comparison', column: name, operator, values };
}

function readOperator(
  termType: string | null | undefined,
  embedded: string | undefined,
  reject: Reject,
): Operator {
  const operator = findOperator(embedded ?? termType ?? 'eq');
  if (operator === undefined) {
    const part = embedded === undefined ? 'termType' : 'column';
    return reject(part, `has an unknown term type: use one of ${[...operators.keys()].join(', ')}`);
  }
  if (embedded !== undefined && termType && findOperator(termType) !== operator) {
    reject('termType', 'contradicts the one in the column');
  }
  return operator;
}

function readValues(
  value: unknown,
  operator: Operator,
  column: QueryColumn,
  reject: Reject,
): readonly (string | number)[] {
  if (takesNoValue(operator)) {
    // Empty means the empty string, or 0 for a time.
    return column.kind === 'integer' ? [0] : [''];
  }
  if (value === undefined || value === null) {
    reject('value', 'is required');
  }
  const isList = operator === 'in' || operator === 'nin';
  const isRange = operator === 'btw' || operator === 'nbtw';
  const raw = isList || isRange ? toList(value) : [value];
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
      return typeof plain === 'string' && column.values.includes(plain)
        ? plain
        : reject('value', `must be one of ${column.values.join(', ')}`);
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
