import { CompiledQuery, type DatabaseConnection, type Driver, type QueryResult } from 'kysely';
import pg from 'pg';
import {
  isConnectionLost,
  isNameRefused,
  isReadOnly,
  translatePostgresError,
} from './database-errors.ts';
import { readPostgresServers } from './database-url.ts';
import type { ScopedQuery } from './organization-database.ts';

const SECOND = 1000;
const INT8 = 20;
/** How long the client waits for the server when it closes a connection. */
const CLOSE_TIMEOUT_MILLISECONDS = SECOND;

const BEGIN = CompiledQuery.raw('begin');
const COMMIT = CompiledQuery.raw('commit');
const ROLLBACK = CompiledQuery.raw('rollback');

export interface PostgresOptions {
  readonly url: string;
  readonly connections: number;
  /** Time limit of a statement. The gateway cancels a request after 15 s. */
  readonly statementTimeoutSeconds: number | undefined;
  readonly onFailedConnect?: (error: unknown) => void;
}

/**
 * Connects Kysely to the server that accepts writes. Throws `DatabaseUnavailableError` for failures
 * of the database. The time limit of the server ends a statement first. The limit of the driver
 * follows later, for a connection without a reply.
 *
 * If one connection breaks, stops answering or becomes read-only, the whole pool is replaced.
 * Otherwise ten idle connections to a dead server would fail ten requests.
 */
export class PostgresDriver implements Driver {
  readonly #options: PostgresOptions;
  readonly #urls: readonly string[];
  readonly #onlyWritable: boolean;
  readonly #retired = new Set<Promise<void>>();
  /** The server for new connections: the first one until it fails, then the next. */
  #server = 0;
  #pool: pg.Pool;
  areNamesRefused = false;

  constructor(options: PostgresOptions) {
    const servers = readPostgresServers(options.url);
    if ('problem' in servers) {
      throw new Error(servers.problem);
    }
    this.#options = options;
    this.#urls = servers.urls;
    this.#onlyWritable = servers.onlyWritable;
    this.#pool = this.#openPool();
  }

  async init(): Promise<void> {}

  /** Tries each server once. A busy pool fails without changing the server. */
  async acquireConnection(): Promise<DatabaseConnection> {
    for (let attempt = 1; ; attempt += 1) {
      const pool = this.#pool;
      const server = this.#server;
      try {
        const client = (await pool.connect()) as ServerClient;
        return new PostgresConnection(client, this, pool);
      } catch (error) {
        const isSame = pool === this.#pool && server === this.#server;
        if (isSame || attempt > this.#urls.length) {
          const translated = translatePostgresError(error);
          this.#options.onFailedConnect?.(translated);
          throw translated;
        }
      }
    }
  }

  async releaseConnection(connection: DatabaseConnection): Promise<void> {
    (connection as PostgresConnection).release();
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
    await Promise.all([...this.#retired, this.#pool.end()]);
  }

  /** Whether the connection, and all others of its pool, must not be used again. */
  isFatal(failure: unknown): boolean {
    return isConnectionLost(failure) || (this.#onlyWritable && isReadOnly(failure));
  }

  replace(pool: pg.Pool, server: number): void {
    this.leave(server);
    if (pool === this.#pool) {
      this.#pool = this.#openPool();
      const ended = pool.end().finally(() => this.#retired.delete(ended));
      this.#retired.add(ended);
    }
  }

  current() {
    return {
      server: this.#server,
      url: this.#urls[this.#server],
      onlyWritable: this.#onlyWritable,
    };
  }

  /** The server failed or accepts no writes. Several calls for one server advance only once. */
  leave(server: number): void {
    if (server === this.#server) {
      this.#server = (server + 1) % this.#urls.length;
    }
  }

  #openPool(): pg.Pool {
    const { connections, statementTimeoutSeconds } = this.#options;
    const pool = new pg.Pool({
      Client: clientClass(this) as unknown as new () => pg.ClientBase,
      max: connections,
      connectionTimeoutMillis: 2 * SECOND,
      idleTimeoutMillis: 30 * SECOND,
      keepAlive: true,
      keepAliveInitialDelayMillis: 10 * SECOND,
      application_name: 'gatehouse-device-service',
      // Times and counts are 64-bit columns and safe integers.
      types: {
        getTypeParser: ((oid: number, format: 'text') =>
          oid === INT8
            ? Number
            : pg.types.getTypeParser(oid, format)) as typeof pg.types.getTypeParser,
      },
      ...(statementTimeoutSeconds === undefined
        ? {}
        : {
            statement_timeout: statementTimeoutSeconds * SECOND,
            lock_timeout: statementTimeoutSeconds * SECOND,
            idle_in_transaction_session_timeout: statementTimeoutSeconds * SECOND,
            query_timeout: (statementTimeoutSeconds + 1) * SECOND,
          }),
    });
    // The pool replaces a broken idle connection. Without a listener, the error would end the
    // process.
    pool.on('error', () => undefined);
    return pool;
  }
}

interface ServerClient extends pg.PoolClient {
  readonly server: number;
}

/**
 * Creates the class for connections of a pool. A connection goes to the current server. It is
 * connected only after the server has reported that it accepts writes.
 */
function clientClass(driver: PostgresDriver): typeof pg.Client {
  return class extends pg.Client {
    readonly server: number;
    readonly #onlyWritable: boolean;

    constructor(config: pg.ClientConfig) {
      const { server, url, onlyWritable } = driver.current();
      super({ ...config, connectionString: url });
      this.server = server;
      this.#onlyWritable = onlyWritable;
      // The pool listens only while the connection is idle. Otherwise the interrupted query reports
      // the error.
      this.on('error', () => undefined);
    }

    /** The pool passes a callback, and closes a connection that takes too long. */
    override connect(): Promise<this>;
    override connect(callback: (error: Error) => void): void;
    override connect(callback?: (error: Error) => void): Promise<this> | undefined {
      const connected = super
        .connect()
        .then(() => (this.#onlyWritable ? this.#assertWritable() : undefined))
        .then(
          () => this,
          (error: Error) => {
            driver.leave(this.server);
            void this.end();
            throw error;
          },
        );
      if (callback === undefined) {
        return connected;
      }
      connected.then(() => callback(undefined as unknown as Error), callback);
      return undefined;
    }

    override end(): Promise<void>;
    override end(callback: (error: Error) => void): void;
    override end(callback?: (error: Error) => void): Promise<void> | undefined {
      const timer = setTimeout(() => this.connection.stream.destroy(), CLOSE_TIMEOUT_MILLISECONDS);
      this.once('end', () => clearTimeout(timer));
      return callback === undefined ? super.end() : (super.end(callback) as undefined);
    }

    /** libpq uses this query for servers older than version 14. A standby also returns `on`. */
    async #assertWritable(): Promise<void> {
      const { rows } = await this.query('show transaction_read_only');
      if (rows[0]?.transaction_read_only !== 'off') {
        throw Object.assign(new Error('The server accepts no writes.'), { code: '25006' });
      }
    }
  };
}

/** One use of a connection of the pool. */
class PostgresConnection implements DatabaseConnection {
  readonly #client: ServerClient;
  readonly #driver: PostgresDriver;
  readonly #pool: pg.Pool;
  /** A failed connection is not used again, because its rollback would also wait for the time limit. */
  #failure: unknown;

  constructor(client: ServerClient, driver: PostgresDriver, pool: pg.Pool) {
    this.#client = client;
    this.#driver = driver;
    this.#pool = pool;
  }

  async executeQuery<Row>(query: CompiledQuery): Promise<QueryResult<Row>> {
    if (this.#failure !== undefined) {
      throw this.#failure;
    }
    try {
      const { rows, rowCount, command } = await this.#run(query);
      if (query === COMMIT && command === 'ROLLBACK') {
        throw new Error('PostgreSQL rolled back the transaction.');
      }
      return { rows: rows as Row[], numAffectedRows: BigInt(rowCount ?? 0) };
    } catch (error) {
      const translated = translatePostgresError(error);
      if (this.#driver.isFatal(translated)) {
        this.#failure = translated;
        this.#driver.replace(this.#pool, this.#client.server);
      }
      throw translated;
    }
  }

  streamQuery(): never {
    throw new Error('The service reads no streams of rows.');
  }

  release(): void {
    this.#client.release(this.#failure !== undefined);
  }

  /**
   * Each connection parses a named statement once. If the database refuses a name, all statements
   * run without names from then on: a connection pooler shares server connections between clients,
   * or a newer version of this service changed a table.
   */
  async #run({
    name,
    sql: text,
    parameters,
  }: CompiledQuery & Partial<Pick<ScopedQuery, 'name'>>): Promise<pg.QueryResult> {
    const values = parameters as unknown[];
    if (name === undefined || this.#driver.areNamesRefused) {
      return this.#client.query(text, values);
    }
    const isInTransaction = this.#client.getTransactionStatus() !== 'I';
    try {
      return await this.#client.query({ name, text, values });
    } catch (error) {
      if (!isNameRefused(error)) {
        throw error;
      }
      this.#driver.areNamesRefused = true;
      // The error ends a transaction, which then runs again (queries.ts).
      if (isInTransaction) {
        throw error;
      }
      return this.#client.query(text, values);
    }
  }
}
