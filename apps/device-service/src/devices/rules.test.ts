import { expect, test } from '@jest/globals';
import { DatabaseUnavailableError } from '../database/database-errors.ts';
import { changeEachDevice } from './rules.ts';

function failingFrom(failing: string): (id: string) => Promise<void> {
  return async (id) => {
    if (id >= failing) {
      throw new DatabaseUnavailableError(new Error('gone'));
    }
  };
}

test('reports what changed before the database failed, and the rest as unavailable', async () => {
  const tried: string[] = [];
  const result = await changeEachDevice(['a', 'b', 'c'], (id) => {
    tried.push(id);
    return failingFrom('b')(id);
  });
  expect(result).toEqual({
    total: 3,
    succeeded: 1,
    failed: 2,
    items: [
      { index: 0, id: 'a', status: 200, code: 'success' },
      { index: 1, id: 'b', status: 503, code: 'service_unavailable' },
      { index: 2, id: 'c', status: 503, code: 'service_unavailable' },
    ],
  });
  expect(tried).toEqual(['a', 'b']);
});

test('fails as a whole if the database is unavailable from the beginning', async () => {
  await expect(changeEachDevice(['a', 'b'], failingFrom('a'))).rejects.toThrow(
    DatabaseUnavailableError,
  );
});
