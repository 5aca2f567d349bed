import {
  type Condition,
  combine,
  createComparison,
  type Link,
  MAXIMUM_CONDITION_DEPTH,
  type Operator,
  operators,
  queryError,
  valueless,
} from './condition.ts';
import type { QueryColumns } from './query.ts';

const MAXIMUM_LENGTH = 8192;

const symbols: ReadonlyMap<string, string> = new Map(
  Object.entries({ '=': 'eq', '!=': 'not', '>': 'gt', '<': 'lt', '>=': 'gte', '<=': 'lte' }),
);

/** A token at the current position, and the space after it. */
const token = (source: string) => new RegExp(`(${source})\\s*`, 'iuy');

const SPACE = token('');
const OPEN = token('\\(');
const CLOSE = token('\\)');
const CONNECTOR = token('(?:and|or)(?![^\\s()])');
/** Ends at a symbol: `state=online` is a column, an operator and a value. */
const COLUMN = token(`(?!(?:and|or)(?![^\\s()])|['"])[^\\s()=!<>]+`);
const OPERATOR = token(`!=|>=|<=|[=<>]|[^\\s()=<>'"][^\\s()]*`);
const QUOTE = token(`['"]`);
const QUOTED = token(`'(?:[^'\\\\]|\\\\[^]|'')*'|"(?:[^"\\\\]|\\\\[^]|"")*"`);
/** May contain symbols: `%a=b%` is one value. */
const WORD = token(`(?![=<>'"]|!=)[^\\s()]+`);

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
  if (typeof where !== 'string' || where.length > MAXIMUM_LENGTH) {
    const message = `must be a string of at most ${MAXIMUM_LENGTH} characters`;
    throw queryError('where', message);
  }
  const reader = createReader(where);
  if (reader.isAtEnd()) {
    return undefined;
  }
  const condition = readConditions(reader, columns, 1);
  return reader.isAtEnd() ? condition : reader.fail('expected and, or, or the end');
}

type Reader = ReturnType<typeof createReader>;

function createReader(text: string) {
  let position = 0;
  const reader = {
    /** Takes the token if it is next. */
    take(pattern: RegExp): string | undefined {
      pattern.lastIndex = position;
      const match = pattern.exec(text);
      position = match === null ? position : pattern.lastIndex;
      return match?.[1];
    },
    position: () => position,
    isAtEnd: () => position === text.length,
    fail(message: string, at = position): never {
      throw queryError('where', `at character ${at + 1}: ${message}`);
    },
  };
  reader.take(SPACE);
  return reader;
}

function readConditions(reader: Reader, columns: QueryColumns, depth: number): Condition {
  const links: Link[] = [];
  for (let connector: string | undefined = 'and'; connector !== undefined; ) {
    const condition = readCondition(reader, columns, depth);
    links.push({ connector: connector.toLowerCase() === 'or' ? 'or' : 'and', condition });
    connector = reader.take(CONNECTOR);
  }
  return combine(links) as Condition;
}

function readCondition(reader: Reader, columns: QueryColumns, depth: number): Condition {
  const opened = reader.position();
  if (reader.take(OPEN) === undefined) {
    return readComparison(reader, columns);
  }
  if (depth >= MAXIMUM_CONDITION_DEPTH) {
    reader.fail(`nested deeper than ${MAXIMUM_CONDITION_DEPTH}`, opened);
  }
  const condition = readConditions(reader, columns, depth + 1);
  return reader.take(CLOSE) ? condition : reader.fail('expected and, or, or ")"');
}

function readComparison(reader: Reader, columns: QueryColumns): Condition {
  const places = { column: reader.position(), termType: 0, value: 0 };
  const column = reader.take(COLUMN) ?? reader.fail('expected a column or "("');
  places.termType = reader.position();
  const written = reader.take(OPERATOR) ?? reader.fail('expected an operator');
  const termType = symbols.get(written) ?? written;
  places.value = reader.position();
  const value = readValue(reader, operators.get(termType.toLowerCase()));
  return createComparison({ column, termType, value }, columns, (part, rule) =>
    reader.fail(`the ${part} ${rule}`, places[part]),
  );
}

function readValue(reader: Reader, operator: Operator | undefined): unknown {
  switch (operator) {
    case undefined:
      // createComparison reports the unknown operator.
      return undefined;
    case 'in':
    case 'nin':
    case 'btw':
    case 'nbtw':
      return reader.take(OPEN) ? readList(reader) : readText(reader);
    default:
      return valueless.has(operator) ? undefined : readText(reader);
  }
}

function readText(reader: Reader): string {
  const start = reader.position();
  if (reader.take(CONNECTOR) !== undefined) {
    return reader.fail('expected a value', start);
  }
  return readQuoted(reader) ?? reader.take(WORD) ?? reader.fail('expected a value');
}

/** `(a, b)`, `(a,b)` or `('a', 'b,c')`. */
function readList(reader: Reader): readonly string[] {
  const values: string[] = [];
  while (reader.take(CLOSE) === undefined) {
    const quoted = readQuoted(reader);
    if (quoted === undefined) {
      const words = reader.take(WORD) ?? reader.fail('a list is not closed');
      values.push(...words.split(',').filter((part) => part !== ''));
    } else {
      values.push(quoted);
    }
  }
  return values;
}

/** `''` is an escaped quote. Other backslashes stay, because patterns use them. */
function readQuoted(reader: Reader): string | undefined {
  const start = reader.position();
  const quoted = reader.take(QUOTED);
  if (quoted === undefined) {
    return reader.take(QUOTE) && reader.fail('a quote is not closed', start);
  }
  const quote = quoted.charAt(0);
  return quoted.slice(1, -1).replaceAll(`${quote}${quote}`, quote).replaceAll(`\\${quote}`, quote);
}
