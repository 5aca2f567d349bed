import { describe, expect, test } from '@jest/globals';
import { describeColumns } from './postgres-columns.ts';
import { PostgresRows } from './postgres-rows.ts';

const TEXT = 25;
const INT8 = 20;
const INT4 = 23;

const columns = describeColumns([
  { name: 'id', dataTypeID: TEXT },
  { name: 'time', dataTypeID: INT8 },
  { name: 'slot', dataTypeID: INT4 },
]);

type Values = readonly (string | null)[];

/** The body of a DataRow message. */
function encode(values: Values): Buffer {
  const parts = values.flatMap((value) => {
    const bytes = Buffer.from(value ?? '');
    const length = Buffer.alloc(4);
    length.writeInt32BE(value === null ? -1 : bytes.length);
    return [length, bytes];
  });
  return Buffer.concat([Buffer.from([0, values.length]), ...parts]);
}

function decode(all: readonly Values[], buffers: 'one buffer' | 'several buffers') {
  const result = new PostgresRows(columns);
  const bodies = all.map(encode);
  const together = Buffer.concat(bodies);
  let start = 0;
  for (const body of bodies) {
    if (buffers === 'one buffer') {
      result.add(together, start);
    } else {
      result.add(body, 0);
    }
    start += body.length;
  }
  return result.rows;
}

describe.each(['one buffer', 'several buffers'] as const)('rows in %s', (buffers) => {
  test('have the values of their own, whatever the row before had', () => {
    const values: readonly Values[] = [
      ['a', '0', '1'],
      ['a', '0', '1'],
      ['ab', '0', '1'],
      ['a', '10', '-1'],
      [null, '10', null],
      [null, null, null],
      ['', '1', '0'],
      ['日本 😀', '1', '0'],
    ];
    expect(decode(values, buffers)).toEqual(
      values.map(([id, time, slot]) => ({
        id,
        time: time === null ? null : Number(time),
        slot: slot === null ? null : Number(slot),
      })),
    );
  });

  test.each([
    '0',
    '-1',
    '1700000000000',
    '999999999999999',
    '-99999999999999',
    '281474976710655',
    '9007199254740991',
    '-9007199254740991',
  ])('have the 64-bit integer %s as a number', (text) => {
    expect(decode([['a', text, '0']], buffers)).toEqual([{ id: 'a', time: Number(text), slot: 0 }]);
  });

  test('do not share an object', () => {
    const row = ['a', '1', '1'];
    const [first, second] = decode([row, row], buffers);
    expect(first).toEqual(second);
    expect(first).not.toBe(second);
  });
});
