import type { PostgresPool, PostgresPoolClient } from 'kysely';
import pg from 'pg';
import { typeParser } from './postgres-columns.ts';
import { chooseServer, connectionClass, type ServerConnection } from './postgres-connection.ts';
import { isConnectionLost, isReadOnly, translatePostgresError } from './postgres-errors.ts';
import { nameStatements } from './postgres-named-statements.ts';
import { readPostgresServers } from './postgres-servers.ts';

const SECOND = 1000;

export interface PostgresPoolOptions {
  readonly url: string;
  readonly connections: number;
  /** Time limit of a statement. The gateway cancels a request after 15 s. */
  readonly statementTimeoutSeconds: number | undefined;
  /** Called after each attempt to get a connection. */
  readonly onConnect?: ((succeeded: boolean) => void) | undefined;
}

/**
 * Creates a pool that throws `DatabaseUnavailableError` for failures of the database. The time
 * limit of the server ends a statement first. The limit of the driver follows later, for a
 * connection without a reply.
 *
 * If one connection breaks, stops answering or becomes read-only, the whole pool is replaced.
 * Otherwise ten idle connections to a dead server would fail ten requests.
 */
export function createPostgresPool(options: PostgresPoolOptions): PostgresPool {
  const servers = readPostgresServers(options.url);
  if ('problem' in servers) {
    throw new Error(servers.problem);
  }
  const { urls, onlyWritable } = servers;
  const choice = chooseServer(urls);
  const Client = connectionClass(choice, onlyWritable);
  const known = new WeakMap<pg.PoolClient, PostgresPoolClient>();
  const retired = new Set<Promise<void>>();
  const statements = nameStatements();
  let pool = openPool(options, Client);

  function replace(suspect: pg.Pool): void {
    if (suspect === pool) {
      pool = openPool(options, Client);
      const ended = suspect.end().finally(() => retired.delete(ended));
      retired.add(ended);
    }
  }

  /** Tries each server once. A busy pool fails without changing the server. */
  async function connect(): Promise<PostgresPoolClient> {
    for (let attempt = 1; ; attempt += 1) {
      const tried = { pool, url: choice.current() };
      try {
        const client = (await tried.pool.connect()) as ServerConnection;
        const wrapped = known.get(client) ?? guard(client, tried.pool);
        known.set(client, wrapped);
        return wrapped;
      } catch (error) {
        const isSame = tried.pool === pool && tried.url === choice.current();
        if (isSame || attempt > urls.length) {
          throw error;
        }
      }
    }
  }

  /**
   * Never uses a failed connection again, because its rollback would also wait for the time limit.
   */
  function guard(client: ServerConnection, from: pg.Pool): PostgresPoolClient {
    let failure: unknown;
    const query = async (text: string, parameters?: readonly unknown[]) => {
      if (failure !== undefined) {
        throw failure;
      }
      return statements.query(client, text, parameters).catch((error: unknown) => {
        const translated = translatePostgresError(error);
        if (isConnectionLost(translated) || (onlyWritable && isReadOnly(translated))) {
          failure = translated;
          choice.leave(client.url);
          replace(from);
        }
        throw translated;
      });
    };
    return {
      query: query as unknown as PostgresPoolClient['query'],
      release: (destroy) => client.release(destroy === true || failure !== undefined),
    };
  }

  return {
    options: pool.options,
    connect: () =>
      connect().catch((error: unknown) => {
        options.onConnect?.(false);
        throw translatePostgresError(error);
      }),
    end: async () => {
      await Promise.all([...retired, pool.end()]);
    },
  };
}

function openPool(options: PostgresPoolOptions, Client: typeof pg.Client): pg.Pool {
  const { connections, statementTimeoutSeconds } = options;
  const pool = new pg.Pool({
    Client: Client as unknown as new () => pg.ClientBase,
    max: connections,
    connectionTimeoutMillis: 2 * SECOND,
    idleTimeoutMillis: 30 * SECOND,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10 * SECOND,
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
  // The pool replaces a broken idle connection. Without a listener, the error would end the
  // process.
  pool.on('error', () => undefined);
  return pool;
}
