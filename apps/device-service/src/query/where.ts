import type { QueryColumns } from './columns.ts';
import { createComparison, findOperator, takesNoValue } from './comparison.ts';
import {
  type Condition,
  combine,
  type Link,
  MAXIMUM_CONDITION_DEPTH,
  queryError,
} from './condition.ts';

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
export function parseWhere(where: unknown, columns: QueryColumns): Condition | undefined {
  if (where === undefined || where === null) {
    return undefined;
  }
  if (typeof where !== 'string' || where.length > MAXIMUM_LENGTH) {
    const message = `must be a string of at most ${MAXIMUM_LENGTH} characters`;
    throw queryError('where', message);
  }
  const reader = createWhereReader(where);
  if (reader.peek().kind === 'end') {
    return undefined;
  }
  const condition = readConditions(reader, columns, 1);
  const rest = reader.take();
  if (rest.kind !== 'end') {
    throw whereErrorAt(rest, 'expected and, or, or the end');
  }
  return condition;
}

function readConditions(reader: WhereReader, columns: QueryColumns, depth: number): Condition {
  const links: Link[] = [];
  for (let connector: Link['connector'] | undefined = 'and'; connector !== undefined; ) {
    links.push({ connector, condition: readCondition(reader, columns, depth) });
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

function readCondition(reader: WhereReader, columns: QueryColumns, depth: number): Condition {
  if (reader.peek().kind !== 'open') {
    return readComparison(reader, columns);
  }
  const open = reader.take();
  if (depth >= MAXIMUM_CONDITION_DEPTH) {
    throw whereErrorAt(open, `nested deeper than ${MAXIMUM_CONDITION_DEPTH}`);
  }
  const condition = readConditions(reader, columns, depth + 1);
  const close = reader.take();
  if (close.kind !== 'close') {
    throw whereErrorAt(close, 'expected and, or, or ")"');
  }
  return condition;
}

function readComparison(reader: WhereReader, columns: QueryColumns): Condition {
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
  return createComparison({ column: column.text, termType, value }, columns, (part, rule) => {
    throw whereErrorAt(tokens[part], `the ${part} ${rule}`);
  });
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

interface WhereToken {
  readonly kind: 'word' | 'quoted' | 'symbol' | 'open' | 'close' | 'end';
  /** Without quotes and escapes. */
  readonly text: string;
  /** Position of the first character, counted from 1. */
  readonly position: number;
}

const TOKEN =
  /(?<space>\s+)|(?<open>\()|(?<close>\))|(?<symbol>!=|>=|<=|=|>|<)|(?<quoted>'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.|"")*")|(?<word>[^\s()]+)/gsuy;
const COLUMN = /^[^\s()=!<>]+/u;

/**
 * Splits a where text into tokens. A word ends at a space or parenthesis, so that `%a=b%` is one
 * value. A column name also ends at an operator (`state=online`).
 */
function createWhereReader(text: string) {
  let position = 0;
  let ahead: { readonly token: WhereToken; readonly next: number } | undefined;

  function peek(): WhereToken {
    ahead ??= read();
    return ahead.token;
  }

  function take(): WhereToken {
    const token = peek();
    position = ahead?.next ?? position;
    ahead = undefined;
    return token;
  }

  /** Takes the next token, up to an operator. */
  function takeColumn(): WhereToken {
    const token = peek();
    const name = token.kind === 'word' ? COLUMN.exec(token.text)?.[0] : undefined;
    if (name === undefined) {
      return take();
    }
    position = token.position - 1 + name.length;
    ahead = undefined;
    return { ...token, text: name };
  }

  function read(): { readonly token: WhereToken; readonly next: number } {
    TOKEN.lastIndex = position;
    const match = TOKEN.exec(text);
    if (match?.groups?.space !== undefined) {
      position = TOKEN.lastIndex;
      return read();
    }
    const [kind, written] =
      Object.entries(match?.groups ?? {}).find(([, group]) => group !== undefined) ?? [];
    const token: WhereToken =
      written === undefined
        ? { kind: 'end', text: '', position: position + 1 }
        : { kind: kind as WhereToken['kind'], text: written, position: position + 1 };
    if (token.kind === 'word' && /^['"]/.test(token.text)) {
      throw whereErrorAt(token, 'a quote is not closed');
    }
    const unquoted = token.kind === 'quoted' ? { ...token, text: unquote(token.text) } : token;
    return { token: unquoted, next: position + (written?.length ?? 0) };
  }

  return { peek, take, takeColumn };
}

type WhereReader = ReturnType<typeof createWhereReader>;

function whereErrorAt({ position }: WhereToken, message: string) {
  return queryError('where', `at character ${position}: ${message}`);
}

/** `''` is an escaped quote. Other backslashes stay, because patterns use them. */
function unquote(quoted: string): string {
  const quote = quoted.charAt(0);
  return quoted.slice(1, -1).replaceAll(`${quote}${quote}`, quote).replaceAll(`\\${quote}`, quote);
}
