import type { PostgresPool, PostgresPoolClient } from 'kysely';
import pg from 'pg';
import { translatePostgresError } from './postgres-errors.ts';

const SECOND = 1000;
const INT8 = 20;

export interface PostgresPoolOptions {
  readonly url: string;
  readonly connections: number;
  /** For how long one statement may run; the gateway gives up on a request after 15 s. */
  readonly statementTimeoutSeconds: number | undefined;
  /** Hears whether there was a connection to be had. */
  readonly onConnect?: ((succeeded: boolean) => void) | undefined;
}

/**
 * A pool whose failures are `DatabaseUnavailable` where the database is at fault. The server's own limits
 * end a statement first; the driver's, a little later, ends one on a connection that went silent.
 */
export function createPostgresPool(options: PostgresPoolOptions): PostgresPool {
  const { url, connections, statementTimeoutSeconds } = options;
  const pool = new pg.Pool({
    connectionString: url,
    max: connections,
    connectionTimeoutMillis: 2 * SECOND,
    idleTimeoutMillis: 30 * SECOND,
    keepAlive: true,
    application_name: 'gatehouse-device-service',
    types: { getTypeParser: typeParser },
    ...(statementTimeoutSeconds === undefined
      ? {}
      : {
          statement_timeout: statementTimeoutSeconds * SECOND,
          lock_timeout: statementTimeoutSeconds * SECOND,
          idle_in_transaction_session_timeout: statementTimeoutSeconds * SECOND,
          query_timeout: (statementTimeoutSeconds + 1) * SECOND,
        }),
  });
  // An idle connection that breaks is replaced at the next use; without a listener it ends the process.
  pool.on('error', () => undefined);
  const known = new WeakMap<pg.PoolClient, PostgresPoolClient>();
  return {
    options: pool.options,
    connect: async () => {
      const client = await pool.connect().catch((error: unknown) => {
        options.onConnect?.(false);
        return rethrow(error);
      });
      const wrapped = known.get(client) ?? translating(client);
      known.set(client, wrapped);
      return wrapped;
    },
    end: () => pool.end(),
  };
}

function translating(client: pg.PoolClient): PostgresPoolClient {
  // The pool takes its own listener off while the connection is in use; the broken query reports it.
  client.on('error', () => undefined);
  const query = (text: string, parameters?: readonly unknown[]) =>
    client.query(text, parameters === undefined ? undefined : [...parameters]).catch(rethrow);
  return {
    query: query as unknown as PostgresPoolClient['query'],
    release: () => client.release(),
  };
}

/** Times and counts are 64-bit in the tables and safe integers in the code; `pg` would read texts. */
const typeParser = ((oid: number, format: 'text') =>
  oid === INT8 ? Number : pg.types.getTypeParser(oid, format)) as typeof pg.types.getTypeParser;

function rethrow(error: unknown): never {
  throw translatePostgresError(error);
}
