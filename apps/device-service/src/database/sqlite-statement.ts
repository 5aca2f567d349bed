import type { DatabaseSync, SQLInputValue, SQLOutputValue } from 'node:sqlite';
import type { CompiledQuery, QueryResult } from 'kysely';
import { translateSqliteErrors } from './sqlite-errors.ts';

type Row = Record<string, SQLOutputValue | undefined>;

export type SqliteStatement = (parameters: CompiledQuery['parameters']) => QueryResult<Row>;

/** Reads rows as arrays, because `node:sqlite` needs twice the time for objects. */
export function prepareStatement(database: DatabaseSync, text: string): SqliteStatement {
  const statement = translateSqliteErrors(() => database.prepare(text));
  let names = statement.columns().map(({ name }) => name);
  if (names.length === 0) {
    return (parameters) => {
      const { changes, lastInsertRowid } = translateSqliteErrors(() =>
        statement.run(...toInputs(parameters)),
      );
      return { insertId: BigInt(lastInsertRowid), numAffectedRows: BigInt(changes), rows: [] };
    };
  }
  statement.setReturnArrays(true);
  return (parameters) => {
    const rows = translateSqliteErrors(
      () => statement.all(...toInputs(parameters)) as unknown as readonly SQLOutputValue[][],
    );
    // SQLite prepares `select *` again after a change of the schema.
    if (rows.length > 0 && rows[0]?.length !== names.length) {
      names = statement.columns().map(({ name }) => name);
    }
    return { rows: rows.map((row) => toObject(names, row)) };
  };
}

function toObject(names: readonly string[], row: readonly SQLOutputValue[]): Row {
  const object: Row = {};
  for (let i = 0; i < names.length; i += 1) {
    object[names[i] as string] = row[i];
  }
  return object;
}

/** Kysely types parameters as unknown. node:sqlite throws for values that it cannot bind. */
function toInputs(parameters: readonly unknown[]): SQLInputValue[] {
  return parameters as SQLInputValue[];
}
