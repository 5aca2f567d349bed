import { CompiledQuery, type DatabaseConnection, type Driver, type QueryResult } from 'kysely';
import pg from 'pg';
import {
  isConnectionLost,
  isNameRefused,
  isReadOnlyError,
  readOnlyError,
  translatePostgresError,
} from './database-errors.ts';
import type { PostgresLocation } from './database-url.ts';
import type { ScopedQuery } from './organization-database.ts';

const SECOND = 1000;
const INT8 = 20;
const CONNECT_TIMEOUT_MILLISECONDS = 2 * SECOND;
/** How long the driver waits for a failed server when it closes the connections. */
const CLOSE_TIMEOUT_MILLISECONDS = SECOND;

const BEGIN = CompiledQuery.raw('begin');
const COMMIT = CompiledQuery.raw('commit');
const ROLLBACK = CompiledQuery.raw('rollback');

interface PostgresOptions {
  readonly location: PostgresLocation;
  readonly connections: number;
  /** Time limit of a statement. The gateway cancels a request after 15 s. */
  readonly statementTimeoutSeconds: number | undefined;
  readonly onFailedConnect?: (error: unknown) => void;
}

/** The connections to one server. */
interface ServerPool {
  readonly server: number;
  readonly pool: pg.Pool;
  readonly clients: Set<pg.PoolClient>;
}

/** One use of a connection of the pool. */
interface Use extends DatabaseConnection {
  release(): void;
}

/**
 * Connects Kysely to the server that accepts writes. Throws `DatabaseUnavailableError` for failures
 * of the database. The time limit of the server ends a statement first. The limit of the driver
 * follows later, for a connection without a reply.
 *
 * If one connection breaks, stops answering or becomes read-only, the whole pool is replaced by one
 * for the next server. Otherwise ten idle connections to a dead server would fail ten requests.
 */
export class PostgresDriver implements Driver {
  readonly #options: PostgresOptions;
  readonly #servers: PostgresLocation;
  readonly #retired = new Set<Promise<void>>();
  #current: ServerPool;
  #areNamesRefused = false;

  constructor(options: PostgresOptions) {
    this.#options = options;
    this.#servers = options.location;
    this.#current = this.#open(0);
  }

  async init(): Promise<void> {}

  /** Tries each server once. A busy pool fails without changing the server. */
  async acquireConnection(): Promise<DatabaseConnection> {
    for (let attempt = 1; ; attempt += 1) {
      const from = this.#current;
      try {
        return this.#use(await from.pool.connect(), from);
      } catch (error) {
        if (this.#servers.urls.length > 1 && !isBusy(error)) {
          this.#leave(from);
        }
        if (from === this.#current || attempt > this.#servers.urls.length) {
          const translated = translatePostgresError(error);
          this.#options.onFailedConnect?.(translated);
          throw translated;
        }
      }
    }
  }

  async releaseConnection(connection: DatabaseConnection): Promise<void> {
    (connection as Use).release();
  }

  async beginTransaction(connection: DatabaseConnection): Promise<void> {
    await connection.executeQuery(BEGIN);
  }

  async commitTransaction(connection: DatabaseConnection): Promise<void> {
    await connection.executeQuery(COMMIT);
  }

  async rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    await connection.executeQuery(ROLLBACK);
  }

  async destroy(): Promise<void> {
    await Promise.all([...this.#retired, close(this.#current)]);
  }

  #use(client: pg.PoolClient, from: ServerPool): Use {
    // A failed connection is not used again, because its rollback would also wait for the time limit.
    let fatal: unknown;
    return {
      executeQuery: async <Row>(query: CompiledQuery): Promise<QueryResult<Row>> => {
        if (fatal !== undefined) {
          throw fatal;
        }
        try {
          const { rows, rowCount, command } = await this.#run(client, query);
          if (query === COMMIT && command === 'ROLLBACK') {
            throw new Error('PostgreSQL rolled back the transaction.');
          }
          return { rows, numAffectedRows: BigInt(rowCount ?? 0) };
        } catch (error) {
          const failure = translatePostgresError(error);
          const isReadOnly = this.#servers.onlyWritable && isReadOnlyError(failure);
          if (isConnectionLost(failure) || isReadOnly) {
            fatal = failure;
            this.#leave(from);
          }
          throw failure;
        }
      },
      streamQuery() {
        throw new Error('The service reads no streams of rows.');
      },
      release: () => client.release(fatal !== undefined),
    };
  }

  /**
   * Each connection parses a named statement once. If the database refuses a name, all statements
   * run without names from then on: a connection pooler shares server connections between clients,
   * or a newer version of this service changed a table.
   */
  async #run(
    client: pg.PoolClient,
    query: CompiledQuery & { readonly name?: ScopedQuery['name'] },
  ): Promise<pg.QueryResult> {
    const { name, sql: text } = query;
    const values = query.parameters as unknown[];
    if (name === undefined || this.#areNamesRefused) {
      return client.query(text, values);
    }
    const isInTransaction = client.getTransactionStatus() !== 'I';
    try {
      return await client.query({ name, text, values });
    } catch (error) {
      if (!isNameRefused(error)) {
        throw error;
      }
      this.#areNamesRefused = true;
      // The error ends a transaction, which then runs again (queries.ts).
      if (isInTransaction) {
        throw error;
      }
      return client.query(text, values);
    }
  }

  /** Several failures of one pool replace it only once. */
  #leave(from: ServerPool): void {
    if (from === this.#current) {
      this.#current = this.#open((from.server + 1) % this.#servers.urls.length);
      const closed = close(from).finally(() => this.#retired.delete(closed));
      this.#retired.add(closed);
    }
  }

  #open(server: number): ServerPool {
    const { connections, statementTimeoutSeconds } = this.#options;
    const milliseconds = (statementTimeoutSeconds ?? 0) * SECOND;
    const clients = new Set<pg.PoolClient>();
    const pool = new pg.Pool({
      connectionString: this.#servers.urls[server],
      max: connections,
      connectionTimeoutMillis: CONNECT_TIMEOUT_MILLISECONDS,
      idleTimeoutMillis: 30 * SECOND,
      keepAlive: true,
      keepAliveInitialDelayMillis: 10 * SECOND,
      application_name: 'gatehouse-device-service',
      onConnect: this.#servers.onlyWritable ? assertWritable : undefined,
      types: { getTypeParser },
      ...(statementTimeoutSeconds !== undefined && {
        statement_timeout: milliseconds,
        lock_timeout: milliseconds,
        idle_in_transaction_session_timeout: milliseconds,
        query_timeout: milliseconds + SECOND,
      }),
    });
    pool.on('connect', (client) => {
      clients.add(client);
      // The interrupted query reports the error.
      client.on('error', () => undefined);
    });
    pool.on('remove', (client) => clients.delete(client));
    // The pool replaces a broken idle connection. Without a listener, the error would end the
    // process.
    pool.on('error', () => undefined);
    return { server, pool, clients };
  }
}

/** Times and counts are 64-bit columns and safe integers. */
const getTypeParser = ((oid: number, format: 'text') =>
  oid === INT8 ? Number : pg.types.getTypeParser(oid, format)) as typeof pg.types.getTypeParser;

/** All connections are in use. The server may be fine. */
function isBusy(error: unknown): boolean {
  return error instanceof Error && error.message === 'timeout exceeded when trying to connect';
}

/** libpq uses this query for servers older than version 14. A standby also returns `on`. */
async function assertWritable(client: pg.ClientBase): Promise<void> {
  const { rows } = await client.query({
    text: 'show transaction_read_only',
    query_timeout: CONNECT_TIMEOUT_MILLISECONDS,
  } as pg.QueryConfig);
  if (rows[0]?.transaction_read_only !== 'off') {
    throw readOnlyError();
  }
}

async function close({ pool, clients }: ServerPool): Promise<void> {
  const timer = setTimeout(() => {
    for (const client of clients) {
      client.connection.stream.destroy();
    }
  }, CLOSE_TIMEOUT_MILLISECONDS);
  await pool.end();
  clearTimeout(timer);
}
