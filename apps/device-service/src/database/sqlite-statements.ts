import type { DatabaseSync, SQLInputValue, SQLOutputValue } from 'node:sqlite';
import type { CompiledQuery, QueryResult } from 'kysely';
import { LRUCache } from 'lru-cache';
import { translateSqliteErrors } from './database-errors.ts';

type Row = Record<string, SQLOutputValue | undefined>;

type SqliteStatement = (parameters: CompiledQuery['parameters']) => QueryResult<Row>;

const CACHED_STATEMENTS = 64;
/** Batches have long texts, and a statement keeps the values that were bound last. */
const MAXIMUM_TEXT_LENGTH = 4096;

/** Prepares a text once. SQLite itself prepares a statement again after a change of the schema. */
export function cacheStatements(database: DatabaseSync): (text: string) => SqliteStatement {
  const cache = new LRUCache<string, SqliteStatement>({ max: CACHED_STATEMENTS });
  return (text) => {
    const known = cache.get(text);
    if (known !== undefined) {
      return known;
    }
    const statement = prepareStatement(database, text);
    if (text.length <= MAXIMUM_TEXT_LENGTH) {
      cache.set(text, statement);
    }
    return statement;
  };
}

/** Reads rows as arrays, because `node:sqlite` needs twice the time for objects. */
function prepareStatement(database: DatabaseSync, text: string): SqliteStatement {
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
