import { EventEmitter } from 'node:events';
import { expect, test } from '@jest/globals';
import pg from 'pg';
import { type Connection, diversionOf, divertRows } from './postgres-diversion.ts';

/** A message of the server: a code, the length of the rest, and the body. */
function message(code: string, body: Buffer): Buffer {
  const header = Buffer.alloc(5);
  header.write(code);
  header.writeUInt32BE(body.length + 4, 1);
  return Buffer.concat([header, body]);
}

const row = (text: string) => {
  const value = Buffer.from(text);
  return message('D', Buffer.concat([Buffer.from([0, 1, 0, 0, 0, value.length]), value]));
};
const bindComplete = message('2', Buffer.alloc(0));
const complete = message('C', Buffer.from('SELECT 2\0'));
const ready = message('Z', Buffer.from('I'));

/** Returns in order what `pg` and the receiver of the first result get. */
function receive(bytes: Buffer, chunkBytes: number): readonly string[] {
  const connection = new pg.Connection() as Connection;
  divertRows(connection);
  const stream = new EventEmitter();
  connection.attachListeners(stream as unknown as NodeJS.ReadableStream);
  const received: string[] = [];
  for (const name of ['bindComplete', 'commandComplete', 'readyForQuery']) {
    connection.on(name, () => received.push(name));
  }
  connection.on('dataRow', ({ fields }) => received.push(`row for pg: ${fields}`));
  diversionOf(connection).receiver = {
    handleRow: (whole, start) =>
      received.push(
        `diverted row: ${whole.toString('utf8', start + 6, start + 6 + (whole[start + 5] ?? 0))}`,
      ),
  };
  for (let start = 0; start < bytes.length; start += chunkBytes) {
    stream.emit('data', bytes.subarray(start, start + chunkBytes));
  }
  return received;
}

const twoResults = Buffer.concat([
  ...[bindComplete, row('a'), row('b'), complete, ready],
  ...[bindComplete, row('c'), complete, ready],
]);

test.each(Array.from({ length: twoResults.length }, (_, index) => [index + 1]))(
  'rows are diverted until the end of their result, in chunks of %i bytes',
  (chunkBytes) => {
    expect(receive(twoResults, chunkBytes)).toEqual([
      'bindComplete',
      'diverted row: a',
      'diverted row: b',
      'commandComplete',
      'readyForQuery',
      'bindComplete',
      'row for pg: c',
      'commandComplete',
      'readyForQuery',
    ]);
  },
);
