import type pg from 'pg';
import { describeColumns } from './postgres-columns.ts';
import { type Connection, type Diversion, diversionOf } from './postgres-diversion.ts';
import { PostgresRows, type Row } from './postgres-rows.ts';

export interface StatementResult {
  readonly command: string;
  readonly rowCount: number;
  readonly rows: readonly Row[];
}

export type StatementCallback = (error: unknown, result?: StatementResult) => void;

/**
 * A prepared statement for `client.query`, like the cursor of `pg-cursor`. The query class of `pg`
 * requests the description of the columns with each execution, and prepares again to decode them.
 */
export class PostgresStatement implements pg.Submittable {
  /** With these, `pg` records which statements a connection has prepared. */
  readonly name: string;
  readonly text: string;
  /** `pg` replaces it to end the time limit of the query. */
  callback: StatementCallback;
  readonly #values: readonly unknown[];
  #diversion: Diversion | undefined;
  #rows: PostgresRows | undefined;
  #tag = '';

  constructor(name: string, text: string, values: readonly unknown[], callback: StatementCallback) {
    this.name = name;
    this.text = text;
    this.#values = values;
    this.callback = callback;
  }

  submit(opened: pg.Connection): void {
    const connection = opened as Connection;
    const { name, text } = this;
    this.#diversion = diversionOf(connection);
    this.#diversion.receiver = this;
    connection.stream.cork();
    if (connection.parsedStatements[name] === undefined) {
      connection.parse({ name, text, types: [] }, true);
    }
    const columns = this.#diversion.columns.get(name);
    if (columns === undefined) {
      connection.describe({ type: 'S', name }, true);
    } else {
      this.#rows = new PostgresRows(columns);
    }
    const values = this.#values.map(toText);
    connection.bind({ statement: name, values } as unknown as pg.BindConfig, true);
    connection.execute(null, true);
    connection.sync();
    connection.stream.uncork();
  }

  handleRowDescription({ fields }: { readonly fields: readonly pg.FieldDef[] }): void {
    const columns = describeColumns(fields);
    this.#diversion?.columns.set(this.name, columns);
    this.#rows = new PostgresRows(columns);
  }

  handleRow(bytes: Buffer, start: number): void {
    this.#rows?.add(bytes, start);
  }

  handleCommandComplete({ text }: { readonly text: string }): void {
    this.#tag = text;
  }

  handleReadyForQuery(): void {
    // `INSERT 0 1`, or a command and a count.
    const [command = '', ...counts] = this.#tag.split(' ');
    this.callback(undefined, {
      command,
      rowCount: Number(counts.at(-1)),
      rows: this.#rows?.rows ?? [],
    });
  }

  handleError(error: unknown): void {
    this.callback(error);
  }
}

function toText(value: unknown): string | null {
  return value === null || value === undefined ? null : String(value);
}
