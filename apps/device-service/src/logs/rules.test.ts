import { describe, expect, test } from '@jest/globals';
import { type NewLogRecord, transitionsOf } from './rules.ts';

const record = (type: NewLogRecord['type'], timestamp: number, address?: string): NewLogRecord => ({
  type,
  timestamp,
  content: '',
  message_id: '',
  address,
});

describe('transitionsOf', () => {
  test('returns the last online and the last offline, in the order of their timestamps', () => {
    const transitions = transitionsOf(
      [
        record('online', 50, '/b'),
        record('offline', 40),
        record('online', 10, '/a'),
        record('event', 99),
        record('offline', 20),
      ],
      100,
    );

    expect(transitions).toEqual([
      { to: 'offline', time: 40, address: undefined },
      { to: 'online', time: 50, address: '/b' },
    ]);
  });

  test('uses the order of the report for equal timestamps', () => {
    const order = (types: readonly NewLogRecord['type'][]) =>
      transitionsOf(
        types.map((type) => record(type, 7)),
        100,
      ).map(({ to }) => to);

    expect(order(['online', 'offline'])).toEqual(['online', 'offline']);
    expect(order(['offline', 'online'])).toEqual(['offline', 'online']);
  });

  test('treats a time in the future as now', () => {
    expect(transitionsOf([record('online', 150)], 100)).toEqual([
      { to: 'online', time: 100, address: undefined },
    ]);
  });

  test('is empty if no record is about the connection', () => {
    expect(transitionsOf([record('event', 1), record('register', 2)], 100)).toEqual([]);
  });
});
