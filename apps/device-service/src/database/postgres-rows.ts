import type { PostgresColumns } from './postgres-columns.ts';

export type Row = Record<string, unknown>;

const COUNT_BYTES = 2;
const LENGTH_BYTES = 4;
/** Longer integers may not be safe. */
const MAXIMUM_DIGITS = 15;
const MINUS = 45;
const ZERO = 48;

/** Decodes the rows of one result. */
export class PostgresRows {
  readonly rows: Row[] = [];
  readonly #columns: PostgresColumns;
  /** Where the values of the row before start in these bytes. */
  #bytes: Buffer | undefined;
  readonly #starts: number[] = [];
  readonly #sizes: number[] = [];
  #row: Row;

  constructor(columns: PostgresColumns) {
    this.#columns = columns;
    this.#row = columns.empty;
  }

  /**
   * Decodes the body of a DataRow message. In lists, most values are those of the row before.
   * Comparing their bytes costs less than decoding them.
   */
  add(bytes: Buffer, start: number): void {
    const { names, parsers } = this.#columns;
    const row = { ...this.#row };
    const starts = this.#starts;
    const sizes = this.#sizes;
    const hasBefore = this.#bytes === bytes;
    let at = start + COUNT_BYTES;
    for (let i = 0; i < names.length; i += 1) {
      const before = starts[i] as number;
      let size = hasBefore ? (sizes[i] as number) : 0;
      if (!hasBefore || !isEqual(bytes, before, at, size)) {
        const length = bytes.readInt32BE(at);
        size = LENGTH_BYTES + Math.max(length, 0);
        row[names[i] as string] =
          length < 0 ? null : decode(bytes, at + LENGTH_BYTES, at + size, parsers[i]);
        sizes[i] = size;
      }
      starts[i] = at;
      at += size;
    }
    this.#bytes = bytes;
    this.#row = row;
    this.rows.push(row);
  }
}

/** Whether the value, with its length in front of it, is the same as before. */
function isEqual(bytes: Buffer, before: number, at: number, length: number): boolean {
  for (let i = 0; i < length; i += 1) {
    if (bytes[before + i] !== bytes[at + i]) {
      return false;
    }
  }
  return true;
}

function decode(
  bytes: Buffer,
  start: number,
  end: number,
  parse: PostgresColumns['parsers'][number],
): unknown {
  if (parse === Number && end - start <= MAXIMUM_DIGITS) {
    return decodeInteger(bytes, start, end);
  }
  const text = bytes.toString('utf8', start, end);
  return parse === undefined ? text : parse(text);
}

function decodeInteger(bytes: Buffer, start: number, end: number): number {
  const isNegative = bytes[start] === MINUS;
  let value = 0;
  for (let i = isNegative ? start + 1 : start; i < end; i += 1) {
    value = value * 10 + (bytes[i] as number) - ZERO;
  }
  return isNegative ? -value : value;
}
