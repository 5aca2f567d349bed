import pg from 'pg';

type Parse = (text: string) => unknown;

/** The columns of a prepared statement, in the order of its rows. */
export interface PostgresColumns {
  readonly names: readonly string[];
  /** Undefined for text, which needs no conversion. */
  readonly parsers: readonly (Parse | undefined)[];
  /** Copied for each row, so that all rows have one shape. */
  readonly empty: Readonly<Record<string, unknown>>;
}

const INT8 = 20;
const TEXT = 25;

/**
 * Times and counts are 64-bit columns and safe integers. Without this, `pg` returns them as
 * strings.
 */
export const typeParser = ((oid: number, format: 'text') =>
  oid === INT8 ? Number : pg.types.getTypeParser(oid, format)) as typeof pg.types.getTypeParser;

export function describeColumns(
  fields: readonly Pick<pg.FieldDef, 'name' | 'dataTypeID'>[],
): PostgresColumns {
  const names = fields.map(({ name }) => name);
  return {
    names,
    parsers: fields.map(({ dataTypeID }) =>
      dataTypeID === TEXT ? undefined : typeParser(dataTypeID, 'text'),
    ),
    empty: Object.fromEntries(names.map((name) => [name, null])),
  };
}
