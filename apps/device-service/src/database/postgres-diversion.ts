import type pg from 'pg';
import type { PostgresColumns } from './postgres-columns.ts';

/** Takes the rows of a prepared statement until the server is ready for the next query. */
export interface RowReceiver {
  /** The body of a DataRow message starts at this position. */
  handleRow(bytes: Buffer, start: number): void;
}

export interface Diversion {
  /** Of the statements that the connection has prepared, by name. They never change. */
  readonly columns: Map<string, PostgresColumns>;
  receiver: RowReceiver | undefined;
}

/** The members of `pg.Connection` that its type declarations lack. */
export type Connection = pg.Connection & {
  readonly parsedStatements: Readonly<Record<string, string>>;
  attachListeners(stream: Pick<NodeJS.ReadableStream, 'on'>): void;
};

const HEADER_BYTES = 5;
const DATA_ROW = 'D'.charCodeAt(0);
const READY_FOR_QUERY = 'Z'.charCodeAt(0);

const diversions = new WeakMap<pg.Connection, Diversion>();

/** @throws Error for a connection whose rows were not diverted */
export function diversionOf(connection: pg.Connection): Diversion {
  const diversion = diversions.get(connection);
  if (diversion === undefined) {
    throw new Error('The rows of this connection are not diverted.');
  }
  return diversion;
}

/**
 * Diverts the rows of prepared statements before `pg` makes a string of each value. All other
 * messages go to `pg`. Call it before the connection is opened. `pg` has no option for this, so it
 * replaces a method that `pg` calls with the decrypted stream.
 */
export function divertRows(opened: pg.Connection): void {
  const connection = opened as Connection;
  const diversion: Diversion = { columns: new Map(), receiver: undefined };
  diversions.set(connection, diversion);
  const attach = connection.attachListeners;
  connection.attachListeners = (stream) => {
    const diverting = {
      on(event: string, listener: (bytes: Buffer) => void) {
        stream.on(event, event === 'data' ? divert(diversion, listener) : listener);
      },
    };
    attach.call(connection, diverting as typeof stream);
  };
}

function divert(diversion: Diversion, forward: (bytes: Buffer) => void): (bytes: Buffer) => void {
  return inWholeMessages((bytes) => {
    let at = 0;
    let forwarded = 0;
    const forwardUntil = (end: number) => {
      if (end > forwarded) {
        forward(bytes.subarray(forwarded, end));
      }
    };
    while (at < bytes.length) {
      const code = bytes[at];
      const next = at + messageLength(bytes, at);
      if (code === READY_FOR_QUERY) {
        diversion.receiver = undefined;
      } else if (code === DATA_ROW && diversion.receiver !== undefined) {
        // The description of the columns may be among the messages before.
        forwardUntil(at);
        diversion.receiver.handleRow(bytes, at + HEADER_BYTES);
        forwarded = next;
      }
      at = next;
    }
    forwardUntil(at);
  });
}

/** Holds the start of an incomplete message until the rest arrives. */
function inWholeMessages(take: (bytes: Buffer) => void): (bytes: Buffer) => void {
  let held: Buffer[] = [];
  let heldBytes = 0;
  let neededBytes = 0;
  return (received) => {
    held.push(received);
    heldBytes += received.length;
    if (heldBytes < neededBytes) {
      return;
    }
    const bytes = held.length === 1 ? received : Buffer.concat(held, heldBytes);
    let at = 0;
    let length = messageLength(bytes, at);
    while (at + length <= bytes.length) {
      at += length;
      length = messageLength(bytes, at);
    }
    held = at === bytes.length ? [] : [bytes.subarray(at)];
    heldBytes = bytes.length - at;
    neededBytes = length;
    if (at > 0) {
      take(at === bytes.length ? bytes : bytes.subarray(0, at));
    }
  };
}

/** At least the length of the header, even if that is incomplete. */
function messageLength(bytes: Buffer, at: number): number {
  return at + HEADER_BYTES > bytes.length ? HEADER_BYTES : bytes.readUInt32BE(at + 1) + 1;
}
