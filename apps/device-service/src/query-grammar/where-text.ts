import { illegalArgument } from '@gatehouse/errors';
import { createComparison, findOperator, type Place, takesNoValue } from './comparison.ts';
import { type Condition, combine, type Link, MAXIMUM_CONDITION_DEPTH } from './condition.ts';
import type { QuerySubject } from './query.ts';
import {
  createWhereReader,
  type WhereReader,
  type WhereToken,
  whereErrorAt,
} from './where-tokens.ts';

const MAXIMUM_LENGTH = 8192;

const symbols: Readonly<Record<string, string>> = {
  '=': 'eq',
  '!=': 'not',
  '>': 'gt',
  '<': 'lt',
  '>=': 'gte',
  '<=': 'lte',
};

/**
 * Reads `where`: `name like %abc% and (state = online or state is offline)`.
 *
 *   conditions = condition { ("and" | "or") condition }          "and" binds tighter
 *   condition  = "(" conditions ")" | column operator [ value ]
 *   value      = word | quoted | "(" (word | quoted) … ")"       for in, nin, btw, nbtw
 *
 * Words end at a space or a parenthesis. Quote a value that contains one of them, or is `and` or
 * `or`.
 */
export function parseWhere(where: unknown, subject: QuerySubject): Condition | undefined {
  if (where === undefined || where === null) {
    return undefined;
  }
  if (typeof where !== 'string' || where.length > MAXIMUM_LENGTH) {
    const message = `must be a string of at most ${MAXIMUM_LENGTH} characters`;
    throw illegalArgument([{ property: 'where', message }]);
  }
  const reader = createWhereReader(where);
  if (reader.peek().kind === 'end') {
    return undefined;
  }
  const condition = readConditions(reader, subject, 1);
  const rest = reader.take();
  if (rest.kind !== 'end') {
    throw whereErrorAt(rest, 'expected and, or, or the end');
  }
  return condition;
}

function readConditions(reader: WhereReader, subject: QuerySubject, depth: number): Condition {
  const links: Link[] = [];
  for (let connector: Link['connector'] | undefined = 'and'; connector !== undefined; ) {
    links.push({ connector, condition: readCondition(reader, subject, depth) });
    connector = connectorOf(reader.peek());
    if (connector !== undefined) {
      reader.take();
    }
  }
  const condition = combine(links);
  if (condition === undefined) {
    throw new Error('A list of at least one condition has none.');
  }
  return condition;
}

function readCondition(reader: WhereReader, subject: QuerySubject, depth: number): Condition {
  if (reader.peek().kind !== 'open') {
    return readComparison(reader, subject);
  }
  const open = reader.take();
  if (depth >= MAXIMUM_CONDITION_DEPTH) {
    throw whereErrorAt(open, `nested deeper than ${MAXIMUM_CONDITION_DEPTH}`);
  }
  const condition = readConditions(reader, subject, depth + 1);
  const close = reader.take();
  if (close.kind !== 'close') {
    throw whereErrorAt(close, 'expected and, or, or ")"');
  }
  return condition;
}

function readComparison(reader: WhereReader, subject: QuerySubject): Condition {
  const column = reader.takeColumn();
  if (column.kind !== 'word' || connectorOf(column) !== undefined) {
    throw whereErrorAt(column, 'expected a column or "("');
  }
  const written = reader.take();
  const termType = written.kind === 'symbol' ? symbols[written.text] : written.text;
  if ((written.kind !== 'word' && written.kind !== 'symbol') || termType === undefined) {
    throw whereErrorAt(written, 'expected an operator');
  }
  const operator = findOperator(termType);
  const next = reader.peek();
  const value =
    operator !== undefined && takesNoValue(operator) ? undefined : readValue(reader, operator);
  const tokens = { column, termType: written, value: next };
  const place: Place = {
    reject: (part, message) => {
      throw whereErrorAt(tokens[part], `the ${part} ${message}`);
    },
  };
  return createComparison({ column: column.text, termType, value }, subject, place);
}

function readValue(reader: WhereReader, operator: string | undefined): unknown {
  const first = reader.peek();
  if (first.kind === 'open' && ['in', 'nin', 'btw', 'nbtw'].includes(operator ?? '')) {
    return readList(reader);
  }
  const isValue = first.kind === 'word' || first.kind === 'quoted';
  if (operator === undefined) {
    // comparison.ts reports the unknown operator.
    return undefined;
  }
  if (!isValue || connectorOf(first) !== undefined) {
    throw whereErrorAt(first, 'expected a value');
  }
  return reader.take().text;
}

/** `(a, b)`, `(a,b)` or `('a', 'b,c')`. */
function readList(reader: WhereReader): readonly string[] {
  const open = reader.take();
  const values: string[] = [];
  for (;;) {
    const token = reader.take();
    switch (token.kind) {
      case 'close':
        return values;
      case 'quoted':
        values.push(token.text);
        break;
      case 'word':
        values.push(...token.text.split(',').filter((part) => part !== ''));
        break;
      default:
        throw whereErrorAt(token.kind === 'end' ? open : token, 'a list is not closed');
    }
  }
}

function connectorOf(token: WhereToken): Link['connector'] | undefined {
  const word = token.kind === 'word' ? token.text.toLowerCase() : '';
  return word === 'and' || word === 'or' ? word : undefined;
}
