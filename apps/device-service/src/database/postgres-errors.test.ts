import { describe, expect, test } from '@jest/globals';
import {
  DatabaseUnavailableError,
  isRolledBackForOthers,
  translatePostgresError,
} from './database-errors.ts';

const failure = (code?: string) => Object.assign(new Error('a message of PostgreSQL'), { code });

describe('an error of PostgreSQL', () => {
  test.each([
    ...['53100', '57P01', '57014', '08006', '40P01', '25006', 'XX001', 'ECONNREFUSED'],
    // Five letters, like SQLSTATE codes.
    'EPIPE',
    undefined,
  ])('%s means that the database is unavailable', (code) => {
    expect(translatePostgresError(failure(code))).toBeInstanceOf(DatabaseUnavailableError);
  });

  test.each(['23505', '42601', '22P02'])('%s is an error of the query', (code) => {
    const error = failure(code);
    expect(translatePostgresError(error)).toBe(error);
  });

  test('that the service caused stays unchanged', () => {
    const error = new TypeError('not a function');
    expect(translatePostgresError(error)).toBe(error);
  });

  test('identifies a transaction that can run again', () => {
    expect(isRolledBackForOthers(translatePostgresError(failure('40P01')))).toBe(true);
    expect(isRolledBackForOthers(translatePostgresError(failure('53100')))).toBe(false);
    expect(isRolledBackForOthers(failure('40P01'))).toBe(false);
  });
});
