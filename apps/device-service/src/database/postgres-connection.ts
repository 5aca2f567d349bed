import pg from 'pg';

/** Which of several servers new connections go to: the first until it fails, then the next. */
export interface ServerChoice {
  current(): string;
  /** The server failed or accepts no writes. Connections that fail together move on once. */
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

/** How long a server may take to answer the end of a connection. A silent one never does. */
const GOODBYE_MILLISECONDS = 1000;

/** A connection of the pool, which knows its server. */
export interface ServerConnection extends pg.PoolClient {
  readonly url: string;
}

/**
 * The class of the pool's connections: each goes to the server that is current when it is made, and does not count
 * as connected before the server has said that it accepts writes.
 */
export function connectionClass(choice: ServerChoice, onlyWritable: boolean): typeof pg.Client {
  return class PostgresConnection extends pg.Client {
    readonly url: string;

    constructor(config: pg.ClientConfig) {
      const url = choice.current();
      super({ ...config, connectionString: url });
      this.url = url;
      // The pool listens only while the connection is idle. The query that a break interrupts reports it.
      this.on('error', () => undefined);
    }

    /** The pool calls it with a callback, and ends a connection that takes too long. */
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
      const timer = setTimeout(() => this.connection.stream.destroy(), GOODBYE_MILLISECONDS);
      this.once('end', () => clearTimeout(timer));
      return callback === undefined ? super.end() : (super.end(callback) as undefined);
    }

    /** What libpq asks of a server older than version 14; a standby answers `on`, too. */
    async #assertWritable(): Promise<void> {
      const { rows } = await this.query('show transaction_read_only');
      if (rows[0]?.transaction_read_only !== 'off') {
        throw Object.assign(new Error('The server accepts no writes.'), { code: '25006' });
      }
    }
  };
}
