import pg from 'pg';
import { divertRows } from './postgres-diversion.ts';

/** The server for new connections: the first one until it fails, then the next. */
export interface ServerChoice {
  current(): string;
  /** The server failed or accepts no writes. Several calls for one server advance only once. */
  leave(url: string): void;
}

export function chooseServer(urls: readonly string[]): ServerChoice {
  let index = 0;
  return {
    current: () => urls[index] ?? '',
    leave(url) {
      if (url === urls[index]) {
        index = (index + 1) % urls.length;
      }
    },
  };
}

/** How long the client waits for the server when it closes a connection. */
const CLOSE_TIMEOUT_MILLISECONDS = 1000;

export interface ServerConnection extends pg.PoolClient {
  readonly url: string;
}

/**
 * Creates the class for connections of the pool. A connection goes to the current server. It is
 * connected only after the server has reported that it accepts writes.
 */
export function connectionClass(choice: ServerChoice, onlyWritable: boolean): typeof pg.Client {
  return class PostgresConnection extends pg.Client {
    readonly url: string;

    constructor(config: pg.ClientConfig) {
      const url = choice.current();
      super({ ...config, connectionString: url });
      this.url = url;
      divertRows(this.connection);
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
        .then(() => (onlyWritable ? this.#assertWritable() : undefined))
        .then(
          () => this,
          async (error: Error) => {
            choice.leave(this.url);
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
