import type pg from 'pg';
import { fixedQueryName } from './fixed-query.ts';
import { isNameRefused } from './postgres-errors.ts';
import { PostgresStatement, type StatementResult } from './postgres-statement.ts';

export interface NamedStatements {
  query(
    client: pg.PoolClient,
    text: string,
    parameters?: readonly unknown[],
  ): Promise<StatementResult | pg.QueryResult>;
}

const IDLE = 'I';

/**
 * Runs fixed queries as named statements, which each connection parses once. If the database
 * refuses a name, all statements run without names from then on: a connection pooler shares server
 * connections between clients, or a newer version of this service changed a table.
 */
export function nameStatements(): NamedStatements {
  let areNamesRefused = false;
  return {
    async query(client, text, parameters = []) {
      const values = [...parameters];
      const name = areNamesRefused ? undefined : fixedQueryName(text);
      if (name === undefined) {
        return client.query(text, values);
      }
      const isInTransaction = client.getTransactionStatus() !== IDLE;
      try {
        return await run(client, name, text, values);
      } catch (error) {
        if (!isNameRefused(error)) {
          throw error;
        }
        areNamesRefused = true;
        // The error ends a transaction, which then runs again (in-transaction.ts).
        if (isInTransaction) {
          throw error;
        }
        return client.query(text, values);
      }
    },
  };
}

function run(
  client: pg.PoolClient,
  name: string,
  text: string,
  values: readonly unknown[],
): Promise<StatementResult> {
  return new Promise((resolve, reject) => {
    client.query(
      new PostgresStatement(name, text, values, (error, result) =>
        result === undefined ? reject(error) : resolve(result),
      ),
    );
  });
}
