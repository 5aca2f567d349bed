/** The JSON text is rejected. The message names the problem and its position, never the text. */
export class StrictJsonError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'StrictJsonError';
  }
}

const MAXIMUM_DEPTH = 64;

interface OpenContainer {
  /** The member names read so far. Undefined for an array. */
  readonly names: Set<string> | undefined;
}

/**
 * Parses a JSON text that every parser reads alike (RFC 8259 §4). Rejects repeated member names,
 * the name `__proto__`, a byte order mark and more than 64 levels of nesting, which `JSON.parse`
 * accepts.
 *
 * @throws StrictJsonError
 */
export function parseStrictJson(text: string): unknown {
  if (text.startsWith('\uFEFF')) {
    throw new StrictJsonError('must not start with a byte order mark');
  }
  const value = parse(text);
  assertUnambiguous(text);
  return value;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new StrictJsonError('is not valid JSON');
  }
}

/** The text is valid JSON, so only its strings, brackets and commas matter. */
function assertUnambiguous(text: string): void {
  const open: OpenContainer[] = [];
  let expectsName = false;
  for (let position = 0; position < text.length; position += 1) {
    switch (text[position]) {
      case '{':
      case '[':
        expectsName = text[position] === '{';
        open.push({ names: expectsName ? new Set() : undefined });
        assertDepth(open.length, position);
        break;
      case '}':
      case ']':
        open.pop();
        expectsName = false;
        break;
      case ',':
        expectsName = open.at(-1)?.names !== undefined;
        break;
      case '"': {
        const end = endOfString(text, position);
        if (expectsName) {
          addName(open.at(-1)?.names, text.slice(position, end), position);
          expectsName = false;
        }
        position = end - 1;
        break;
      }
    }
  }
}

function assertDepth(depth: number, position: number): void {
  if (depth > MAXIMUM_DEPTH) {
    throw new StrictJsonError(`is nested deeper than ${MAXIMUM_DEPTH} at character ${position}`);
  }
}

/** Compares decoded names: `"\u0061"` is `"a"`. */
function addName(names: Set<string> | undefined, literal: string, position: number): void {
  // Slicing is much faster than parsing. A large body can have a million names without escapes.
  const name = literal.includes('\\') ? (JSON.parse(literal) as string) : literal.slice(1, -1);
  if (name === '__proto__') {
    throw new StrictJsonError(`has a forbidden member name at character ${position}`);
  }
  if (names?.has(name)) {
    throw new StrictJsonError(`repeats a member name at character ${position}`);
  }
  names?.add(name);
}

/** The position after the closing quote of the string that opens at `start`. */
function endOfString(text: string, start: number): number {
  let position = start + 1;
  while (text[position] !== '"') {
    position += text[position] === '\\' ? 2 : 1;
  }
  return position + 1;
}
